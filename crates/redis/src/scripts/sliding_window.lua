-- A sliding window of slots: the permits of as many slots count as a window can touch, wherever it begins.
--
-- State, a hash: `slot`, the number of the latest slot with a grant; `used`, the permits in the window that
-- ends with it; `shift`, slots by which numbers are ahead of the clock, because it was set back; and under
-- the number of each slot that counts, modulo their number, its permits.
--
-- Terms: limit; microseconds of a slot; slots that count; slots by which a number may be ahead of the
-- clock. Argument of give_back: the number of the slot that was charged

local limit, length, slots, most_ahead = cmsgpack.unpack(terms)

local head = redis.call('HMGET', key, 'slot', 'used', 'shift')
local old_shift = tonumber(head[3] or '0')
local shift = old_shift
local slot, used = divide(now, length) + shift, tonumber(head[2] or '0')
local latest = tonumber(head[1] or '') or slot
if latest > slot + most_ahead then shift, slot = shift + latest - slot, latest end
slot = math.max(slot, latest)

-- Returns the names of the slots from `first` to `last`.
local function names(first, last)
  local result = {}
  for number = first, last do result[#result + 1] = math.fmod(number, slots) end
  return result
end

-- Returns the permits of these slots.
local function counts(first, last)
  if last < first then return {} end
  local result = redis.call('HMGET', key, unpack(names(first, last)))
  for index, count in ipairs(result) do result[index] = tonumber(count or '0') end
  return result
end

-- Microseconds until nothing of the slot counts.
local function until_gone(number)
  return (number + slots - shift) * length - now
end

local first, last_gone = latest - slots + 1, math.min(slot - slots, latest)
for _, count in ipairs(counts(first, last_gone)) do used = used - count end

local function store(change)
  if last_gone == latest then
    redis.call('DEL', key)
  elseif last_gone >= first then
    redis.call('HDEL', key, unpack(names(first, last_gone)))
  end
  redis.call('HINCRBY', key, math.fmod(change.slot, slots), change.permits)
  if head[1] and slot == latest and shift == old_shift then
    -- So the time at which it expires is the same too.
    redis.call('HSET', key, 'used', used)
  else
    redis.call('HSET', key, 'slot', slot, 'used', used, 'shift', shift)
    if not is_test then redis.call('PEXPIREAT', key, expiry(now + until_gone(slot))) end
  end
end

if verb == 'give_back' then
  local charged, given = argument(1), 0
  if charged > slot - slots and charged <= latest then
    given = math.min(permits, counts(charged, charged)[1])
  end
  if given > 0 then
    used = used - given
    store({ slot = charged, permits = -given })
  end
  return { given, now, used, 0, 0, slot }
end
local granted = decide(limit - used, MOST_COUNT - used)
if granted then
  used = used + granted
  if not is_look then store({ slot = slot, permits = granted }) end
  return { granted, now, used, until_gone(slot), 0, slot }
end
-- The slots leave in order: finds the one with which enough has left, and the last with any.
local left, retry_after, reset_after = used, 0, 0
for index, count in ipairs(counts(math.max(first, last_gone + 1), latest)) do
  if count > 0 then
    reset_after = until_gone(math.max(first, last_gone + 1) + index - 1)
    if left > limit - needed() then retry_after = reset_after end
    left = left - count
  end
end
return { -1, now, used, reset_after, retry_after, slot }
