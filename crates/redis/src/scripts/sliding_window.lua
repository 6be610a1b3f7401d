-- A sliding window of slots: the permits of as many slots count as a window can touch, wherever it begins.
--
-- State, a hash: `slot`, the number of the latest slot with a grant; `used`, the permits in the window that
-- ends with it; `shift`, slots by which numbers are ahead of the clock, because it was set back; and under
-- the number of each slot that counts, modulo their number, its permits.
--
-- Terms: limit; microseconds of a slot; slots that count. Argument of give_back: the number of the slot that was charged

local limit, length, slots = cmsgpack.unpack(terms)

local head = redis.call('HMGET', key, 'slot', 'used', 'shift')
local shift = tonumber(head[3] or '0')
local slot, used = divide(now, length) + shift, tonumber(head[2] or '0')
local latest = tonumber(head[1] or '') or slot
local is_set_back = is_ahead((latest - shift) * length)
-- The latest slot goes on for the whole of the next one by the clock: if it ended with the present one, which may be about
-- to end, the slots before it would leave early.
if is_set_back then shift, slot = shift + latest - slot - 1, latest end
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

if is_set_back then
  redis.call('HSET', key, 'shift', shift)
  expire(now + until_gone(slot))
end

local first, last_gone = latest - slots + 1, math.min(slot - slots, latest)
for _, count in ipairs(counts(first, last_gone)) do used = used - count end

-- Writes the count of a slot, and what has changed with it.
local function store(changed, count)
  local is_new, at = last_gone == latest or not head[1], now + until_gone(slot)
  -- In the same slot, the time at which it expires is the same too, and nothing has gone.
  if is_new or slot > latest then
    if head[1] then
      redis.call('HSET', key, 'slot', latest)
    else
      redis.call('SET', key, '', 'XX')
    end
    expire(at)
    if not is_new then
      redis.call('HDEL', key, unpack(names(first, last_gone)))
    elseif head[1] then
      redis.call('DEL', key)
    end
  end
  redis.call('HSET', key, math.fmod(changed, slots), count, 'slot', slot, 'used', used, 'shift', shift)
  if is_new then expire(at) end
end

if verb == 'give_back' then
  local charged, given = argument(1), 0
  if charged > slot - slots and charged <= latest then
    local count = counts(charged, charged)[1]
    given = math.min(permits, count)
    if given > 0 then
      used = used - given
      store(charged, count - given)
    end
  end
  return { given, now, used, 0, 0, slot }
end
local granted = decide(limit - used, MOST_COUNT - used)
if granted then
  used = used + granted
  if not is_look then
    -- A new slot may take the name of one that has gone.
    local count = slot == latest and head[1] and counts(slot, slot)[1] or 0
    store(slot, count + granted)
  end
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
