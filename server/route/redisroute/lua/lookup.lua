-- Reads the records of users of one bucket, with the bucket's generation and the time they are to be judged at.
-- KEYS: ll:gen:{b}, ll:route:{b}:<user> …
-- Returns {time, generation or '', {device, record, …} …}
local answer = {now(), redis.call('GET', KEYS[1]) or ''}
for i = 2, #KEYS do
  answer[i + 1] = redis.call('HGETALL', KEYS[i])
end
return answer
