-- Reads a bucket's generation; draws it if there is none and a number is given.
-- KEYS: ll:gen:{b}
-- ARGV: nothing, or a random number, 16 hex digits
-- Returns {time, generation or ''}
local t = now()
local generation = redis.call('GET', KEYS[1])
if not generation and ARGV[1] then
  generation = ARGV[1]
  redis.call('SET', KEYS[1], generation)
end
return {t, generation or ''}
