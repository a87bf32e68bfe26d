-- Prolongs a record if it is that very connection's, and says what its line is like. Never brings one back.
-- KEYS: ll:route:{b}:<user>
-- ARGV: device, conn, node, incarnation, suspect, idle, ttl, sent, patience
-- Returns {outcome, time}: 0 late, 1 ours, 2 taken over, 3 missing
local t, sent = now(), tonumber(ARGV[8])
if late(t, sent, tonumber(ARGV[9])) then return {0, t} end
local value = redis.call('HGET', KEYS[1], ARGV[1])
local r = value and parse(value)
if not r or t > r.expiry then return {3, t} end
if not is(r, ARGV[2], ARGV[3], ARGV[4]) then return {2, t} end
r.suspect = ARGV[5]
r.seen = math.max(r.seen, base(t, sent) - tonumber(ARGV[6]))
r.expiry = r.seen + tonumber(ARGV[7])
put(KEYS[1], ARGV[1], r, t)
return {1, t}
