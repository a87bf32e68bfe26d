-- Reads a bucket's generation; draws it if there is none.
-- KEYS: ll:gen:{b}
-- ARGV: a random number, 16 hex digits
-- Returns {time, generation}
local t = now()
local generation = redis.call('GET', KEYS[1])
if not generation then
  generation = ARGV[1]
  redis.call('SET', KEYS[1], generation)
end
return {t, generation}
