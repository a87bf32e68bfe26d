-- Prolongs each record if it is that very connection's, and says what its line is like. Never brings one back.
-- KEYS: ll:route:{b}:<user>, all on this server
-- ARGV: sent, patience, ttl, then for each key device, name, suspect, idle
-- Returns {time, outcome, …}: 1 ours, 2 taken over, 3 missing; {time} when late
local t, sent = now(), tonumber(ARGV[1])
if late(t, sent, tonumber(ARGV[2])) then return {t} end
local at, ttl = base(t, sent), tonumber(ARGV[3])

local function refresh(key, device, name, suspect, idle)
  local value = redis.call('HGET', key, device)
  local r = value and parse(value)
  if not r or t > r.expiry then return 3 end
  if not is(value, name) then return 2 end
  local head = table.concat({name .. r.instance, r.attempt, r.order, suspect, r.platform}, '|')
  local seen = math.max(r.seen, at - idle)
  put(key, device, head, r.since, seen, seen + ttl, t)
  return 1
end

local outcomes = {t}
for i, key in ipairs(KEYS) do
  outcomes[i + 1] = refresh(key, ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2], tonumber(ARGV[4 * i + 3]))
end
return outcomes
