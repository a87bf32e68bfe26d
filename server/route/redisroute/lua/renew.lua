-- Takes or renews a node's lease. A live lease of another incarnation is taken over only from the same data directory,
-- whose lock proves that the other process is dead.
-- KEYS: ll:node:<node>
-- ARGV: incarnation, directory, lease ttl, sent, patience, then names and values of what else the lease says
-- Returns {time, outcome}: 1 new, 2 held until now, 3 belongs to another; {time} when late
local t = now()
if late(t, tonumber(ARGV[4]), tonumber(ARGV[5])) then return {t} end
local old = redis.call('HMGET', KEYS[1], 'incarnation', 'directory')
local outcome = 1
if old[1] == ARGV[1] then
  outcome = 2
elseif old[1] and old[2] ~= ARGV[2] then
  return {t, 3}
end
redis.call('HSET', KEYS[1], 'incarnation', ARGV[1], 'directory', ARGV[2], unpack(ARGV, 6))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {t, outcome}
