-- Removes each record if it is that very connection's.
-- KEYS: ll:route:{b}:<user>, all on this server
-- ARGV: for each key device, name
-- Returns {time, outcome, …}: 1 removed, 2 not there
local outcomes = {now()}
for i, key in ipairs(KEYS) do
  local device, name = ARGV[2 * i - 1], ARGV[2 * i]
  local value = redis.call('HGET', key, device)
  if value and is(value, name) then
    redis.call('HDEL', key, device)
    outcomes[i + 1] = 1
  else
    outcomes[i + 1] = 2
  end
end
return outcomes
