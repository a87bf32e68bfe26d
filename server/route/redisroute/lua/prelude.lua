-- Put in front of every script. A record is the value of a hash field, the device:
--   conn|node|incarnation|instance|attempt|order|suspect|platform|since|seen|expiry
-- Connection, incarnation, instance, attempt and order are 16 hex digits, for a Lua number holds 53 bits only; times are
-- milliseconds of this server. Its first three fields, with the bar behind them, are its name; the first eight its head.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- Whether a command comes when its sender has given it up and may have sent the opposite. sent is the sender's estimate,
-- never too high, of this server's time when it sent the command; 0 = it has none. Both are cut to milliseconds, so a command
-- that is as old as the patience may have been given up.
local function late(t, sent, patience)
  return sent > 0 and t - sent >= patience
end

-- The moment that ages in a command are counted from.
local function base(t, sent)
  if sent > 0 and sent < t then return sent end
  return t
end

local function parse(value)
  local r = {}
  r.conn, r.node, r.incarnation, r.instance, r.attempt, r.order, r.suspect, r.platform, r.since, r.seen, r.expiry =
    string.match(value, '^(%x+)|([^|]*)|(%x+)|(%x+)|(%x+)|(%x+)|([01])|(%d+)|(%d+)|(%d+)|(%d+)$')
  if not r.conn then return nil end
  r.since, r.seen, r.expiry = tonumber(r.since), tonumber(r.seen), tonumber(r.expiry)
  return r
end

-- Whether a value is the record of that very connection.
local function is(value, name)
  return string.sub(value, 1, #name) == name
end

-- Writes a field; the key lives as long as its longest field.
local function put(key, device, head, since, seen, expiry, t)
  redis.call('HSET', key, device, string.format('%s|%.0f|%.0f|%.0f', head, since, seen, expiry))
  local left = math.max(expiry - t, 1)
  if redis.call('PTTL', key) < left then
    redis.call('PEXPIRE', key, string.format('%.0f', left))
  end
end
