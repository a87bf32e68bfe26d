-- Puts sessions into the table, each unless it has a newer one for the same place; tells nodes whose sessions lose theirs.
-- KEYS: ll:route:{b}:<user>, all on this server
-- ARGV: sent, patience, ttl, exclusive, then for each key device, head, age, idle
-- Returns {time, outcome, …}: 1 created, 2 kept, 3 took over, 4 refused as superseded, 5 refused as displaced; {time} when late
local t, sent = now(), tonumber(ARGV[1])
if late(t, sent, tonumber(ARGV[2])) then return {t} end
local at, ttl, exclusive = base(t, sent), tonumber(ARGV[3]), ARGV[4] == '1'

local function above(a, b) -- hex digits
  local ah, bh = tonumber(string.sub(a, 1, 8), 16), tonumber(string.sub(b, 1, 8), 16)
  if ah ~= bh then return ah > bh end
  return tonumber(string.sub(a, 9), 16) > tonumber(string.sub(b, 9), 16)
end

-- Whether mine is newer than an old record, of the same device or another, and how the loser ends.
local function beats(mine, old, same)
  local verdict = 2
  if old.instance == mine.instance and same then verdict = 1 end
  if old.node == mine.node and old.incarnation ~= mine.incarnation then return true, verdict end
  if verdict == 1 and old.attempt ~= mine.attempt then return above(mine.attempt, old.attempt), verdict end
  if old.node == mine.node then return above(mine.order, old.order), verdict end
  if old.since ~= mine.since then return mine.since > old.since, verdict end
  return mine.node > old.node, verdict
end

-- Judges a session by what the table has: the outcome, and since when the session is.
local function judge(key, device, head, since, own)
  local mine, outcome = parse(head .. '|0|0|0'), 1
  mine.since = since
  local rivals = {} -- device, record; the one of this device first
  local function rival(where, value)
    local old = parse(value)
    if not old or t > old.expiry then return end
    if where == device and old.conn == mine.conn and old.node == mine.node and old.incarnation == mine.incarnation then
      outcome = 2
      mine.since = old.since
    elseif where == device or old.platform == mine.platform then
      table.insert(rivals, {where, old})
    end
  end
  if own then rival(device, own) end
  if exclusive and mine.platform ~= '0' then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      if all[i] ~= device then rival(all[i], all[i + 1]) end
    end
  end
  for _, r in ipairs(rivals) do
    local wins, verdict = beats(mine, r[2], r[1] == device)
    if not wins then return 3 + verdict end
  end
  for _, r in ipairs(rivals) do
    local where, old = r[1], r[2]
    local _, verdict = beats(mine, old, where == device)
    outcome = 3
    if where ~= device then redis.call('HDEL', key, where) end
    if old.node ~= mine.node then
      redis.call('PUBLISH', 'll:kick:' .. old.node, 'k' .. old.incarnation .. old.conn .. verdict)
    end
  end
  return outcome, mine.since
end

-- Since is counted from now and not from when it was sent: a session that began after another was registered is then
-- never the older one, however late either was registered.
local outcomes = {t}
for i, key in ipairs(KEYS) do
  local device, head = ARGV[4 * i + 1], ARGV[4 * i + 2]
  local since, seen = t - tonumber(ARGV[4 * i + 3]), at - tonumber(ARGV[4 * i + 4])
  local own, outcome = redis.call('HGET', key, device), 1
  if own or exclusive then outcome, since = judge(key, device, head, since, own) end
  if outcome < 4 then put(key, device, head, since, seen, seen + ttl, t) end
  outcomes[i + 1] = outcome
end
return outcomes
