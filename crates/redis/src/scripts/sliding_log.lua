-- A log of grants, exact to the microsecond: a sorted set, in which the score of a grant is its time. Its member
-- is the cumulative count of permits up to it, in as many digits as 2^53 has, and its own permits. So grants of
-- one microsecond are in order too.
--
-- Terms: limit; microseconds of the window

local limit, length = cmsgpack.unpack(terms)

-- Returns the cumulative count, the permits and the time of the grant at `index`, or nothing.
local function grant(index)
  local entry = redis.call('ZRANGE', key, index, index, 'WITHSCORES')
  if #entry == 0 then return end
  local count, size = string.match(entry[1], '^(%d+):(%d+)$')
  return tonumber(count), tonumber(size), tonumber(entry[2])
end

local total, _, at = grant(-1)
if total and is_ahead(at) then
  -- What was granted counts from now on, with the same distances.
  local entries = redis.call('ZRANGE', key, '0', '-1', 'WITHSCORES')
  for index = 1, #entries, 2 do
    local moved = tonumber(entries[index + 1]) - (at - now)
    redis.call('ZADD', key, moved, entries[index])
  end
  at = now
end
-- Time does not go back along the log.
at = math.max(now, at or now)

-- The grants that are a window old or older have gone.
local gone, used = 0, 0
-- The cumulative count, which begins anew when the log is empty.
local before = 0
if total then
  local first, size, since_when = grant(0)
  if since_when <= at - length then
    gone = redis.call('ZCOUNT', key, '-inf', at - length)
    first, size = grant(gone)
  end
  if first then used, before = total - first + size, total end
end

-- A charge must not take the cumulative count to where it is not exact any more.
local granted = decide(limit - used, math.min(MOST_COUNT - used, 2 ^ 52 - before))
if granted then
  used = used + granted
  if granted > 0 and not is_look then
    local member = string.format('%016.0f:%.0f', before + granted, granted)
    redis.call('ZADD', key, 'XX', at, member)
    expire(at + length)
    if gone > 0 then redis.call('ZREMRANGEBYRANK', key, '0', gone - 1) end
    redis.call('ZADD', key, at, member)
    -- The key is new.
    if before == 0 then expire(at + length) end
  end
  return { granted, now, used, at + length - now, 0 }
end
-- Finds the first grant with which enough has gone.
local low, high = gone, redis.call('ZCARD', key) - 1
while low < high do
  local middle = divide(low + high, 2)
  if total - grant(middle) <= limit - needed() then high = middle else low = middle + 1 end
end
local _, _, enough = grant(low)
local _, _, latest = grant(-1)
return { -1, now, used, latest + length - now, enough + length - now }
