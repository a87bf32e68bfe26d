-- Reads a lease.
-- KEYS: ll:node:<node>
-- Returns {milliseconds left or negative, {name, value, …}}
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1])}
