-- Ends a lease if it is that incarnation's.
-- KEYS: ll:node:<node>
-- ARGV: incarnation
-- Returns {time, 1 ended or 2 another's or none}
local t = now()
if redis.call('HGET', KEYS[1], 'incarnation') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return {t, 1}
end
return {t, 2}
