-- Reads the list of nodes, after noting one, and forgets those not seen for long. The list outlives the leases: it tells
-- a node that has said goodbye (r) from one that has lapsed (l), and since when.
-- KEYS: ll:nodes, a hash: node → incarnation|time|l or r
-- ARGV: node or '', incarnation, l or r, how long is long
-- Returns {time, {node, value, …}}
local t = now()
local node = ARGV[1]
if node ~= '' then
  local old = redis.call('HGET', KEYS[1], node)
  if ARGV[3] == 'l' or not old or string.sub(old, 1, 16) == ARGV[2] then
    redis.call('HSET', KEYS[1], node, ARGV[2] .. '|' .. string.format('%.0f', t) .. '|' .. ARGV[3])
  end
end
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '|(%d+)|'))
  if node ~= '' and (not at or t - at > tonumber(ARGV[4])) then redis.call('HDEL', KEYS[1], all[i]) end
end
return {t, all}
