-- Removes a record if it is that very connection's.
-- KEYS: ll:route:{b}:<user>
-- ARGV: device, conn, node, incarnation
-- Returns {1 removed or 2 not there, time}
local t = now()
local value = redis.call('HGET', KEYS[1], ARGV[1])
local r = value and parse(value)
if r and is(r, ARGV[2], ARGV[3], ARGV[4]) then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return {1, t}
end
return {2, t}
