-- Puts a session into the table unless it has a newer one for the same place; tells nodes whose sessions lose theirs.
-- KEYS: ll:route:{b}:<user>
-- ARGV: device, conn, node, incarnation, instance, attempt, order, suspect, platform, age, idle, ttl, sent, patience, exclusive
-- Returns {outcome, time}: 0 late, 1 created, 2 kept, 3 took over, 4 refused as superseded, 5 refused as displaced
local key, device, exclusive = KEYS[1], ARGV[1], ARGV[15] == '1'
local t, sent = now(), tonumber(ARGV[13])
if late(t, sent, tonumber(ARGV[14])) then return {0, t} end
local mine = {conn = ARGV[2], node = ARGV[3], incarnation = ARGV[4], instance = ARGV[5], attempt = ARGV[6],
  order = ARGV[7], suspect = ARGV[8], platform = ARGV[9]}
mine.since = base(t, sent) - tonumber(ARGV[10])
mine.seen = base(t, sent) - tonumber(ARGV[11])
mine.expiry = mine.seen + tonumber(ARGV[12])

local function above(a, b) -- hex digits
  local ah, bh = tonumber(string.sub(a, 1, 8), 16), tonumber(string.sub(b, 1, 8), 16)
  if ah ~= bh then return ah > bh end
  return tonumber(string.sub(a, 9), 16) > tonumber(string.sub(b, 9), 16)
end

-- Whether mine is newer than an old record of that device, and how the loser ends.
local function beats(old, at)
  local verdict = 2
  if old.instance == mine.instance and at == device then verdict = 1 end
  if old.node == mine.node and old.incarnation ~= mine.incarnation then return true, verdict end
  if verdict == 1 and old.attempt ~= mine.attempt then return above(mine.attempt, old.attempt), verdict end
  if old.node == mine.node then return above(mine.order, old.order), verdict end
  if old.since ~= mine.since then return mine.since > old.since, verdict end
  return mine.node > old.node, verdict
end

local rivals = {} -- device, record; the one of this device first
local outcome = 1
local function rival(at, value)
  local old = parse(value)
  if not old or t > old.expiry then return end
  if at == device and is(old, mine.conn, mine.node, mine.incarnation) then
    outcome = 2
    mine.since = old.since
  elseif at == device or old.platform == mine.platform then
    table.insert(rivals, {at, old})
  end
end
local own = redis.call('HGET', key, device)
if own then rival(device, own) end
if exclusive and mine.platform ~= '0' then
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    if all[i] ~= device then rival(all[i], all[i + 1]) end
  end
end

for _, r in ipairs(rivals) do
  local wins, verdict = beats(r[2], r[1])
  if not wins then return {3 + verdict, t} end
end
for _, r in ipairs(rivals) do
  local at, old = r[1], r[2]
  local _, verdict = beats(old, at)
  outcome = 3
  if at ~= device then redis.call('HDEL', key, at) end
  if old.node ~= mine.node then
    redis.call('PUBLISH', 'll:kick:' .. old.node, 'k' .. old.incarnation .. old.conn .. verdict)
  end
end
put(key, device, mine, t)
return {outcome, t}
