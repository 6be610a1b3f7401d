-- The constants and functions of all scripts, behind the request.

local MICROS_OF_SKEW = 1000000

-- The largest count of a window, below which sums of two are exact.
local MOST_COUNT = 2 ^ 47

-- Returns an argument of the verb.
local function argument(index)
  return tonumber(ARGV[4 + index])
end

if verb == 'give_back' and KEYS[2] then
  -- When the state has expired, nothing can be given back any more, so the marker is needed for no longer: many
  -- markers of keys that are soon full would fill the server. An hour at most.
  local left = redis.call('PTTL', key)
  if left == -2 then return { 0, now } end
  local lasts = left < 0 and 3600000 or math.max(1, math.min(left, 3600000))
  if not redis.call('SET', KEYS[2], '', 'NX', 'PX', lasts) then return { 0, now } end
end

-- Returns the quotient, rounded down, and the remainder of integers that are not negative. (`a / b` and
-- `a % b` round to the next double: for a large `a` up, past the quotient. `fmod` is exact, and so is the
-- division of a multiple.)
local function divide(a, b)
  local rest = math.fmod(a, b)
  return (a - rest) / b, rest
end

local function divide_up(a, b)
  local quotient, rest = divide(a, b)
  return rest > 0 and quotient + 1 or quotient
end

-- Returns the quotient and the remainder of `a * b / divisor`, although the product may exceed 2^53.
--
-- If it does, takes the digits of `b` to the given base, the highest first, in a long division: the remainder so far
-- and the next digit make `rest * base + part * digit < 2 * divisor * base`, which is at most 2^53 if
-- `divisor * base` is at most 2^52. The quotient must stay below 2^53.
local function multiply_and_divide(a, b, divisor, base)
  local product = a * b
  if product < 2 ^ 53 then return divide(product, divisor) end
  local whole, part = divide(a, divisor)
  local scale = 1
  while scale * base <= b do scale = scale * base end
  local quotient, rest, remaining = 0, 0, b
  while scale >= 1 do
    local digit, next_digits
    digit, remaining = divide(remaining, scale)
    next_digits, rest = divide(rest * base + part * digit, divisor)
    quotient = quotient * base + next_digits
    scale = scale / base
  end
  return whole * b + quotient, rest
end

-- A clock that was set back. If a state is ahead of it by no more than a second, time stands still until it has caught up.
-- If by more, the state counts from now on, and is written so at once, whatever the verb and the answer: otherwise a key
-- without permits, whose denials write nothing, would count from now on at each request, and get none until then.

-- Returns whether the time of a state is so far ahead that the clock was set back.
local function is_ahead(at)
  return at > now + MICROS_OF_SKEW
end

-- Returns the time from which a state counts that was written at `at`, the time passed since, and whether the state is to be
-- written at once.
local function since(at)
  if is_ahead(at) then return now, 0, true end
  if at > now then return at, 0 end
  return now, now - at
end

-- Returns the permits that have to be left for a grant.
local function needed()
  if verb == 'lease' then return argument(1) end
  if verb == 'leave' or verb == 'look' then return permits + argument(1) end
  return verb == 'up_to' and 1 or permits
end

-- Returns the permits to grant if `room` are left, or nil. Those of a charge may be as many as `most`.
local function decide(room, most)
  if verb == 'charge' then return math.max(0, math.min(permits, most)) end
  if needed() <= room then return math.min(permits, room) end
end

-- Returns what was unpacked, or fails if it could not be, or is more or less than the state of this limiter has.
local function checked(least, most, is_unpacked, ...)
  local count = select('#', ...)
  if is_unpacked and count >= least and count <= most then return ... end
  -- Without the key itself, which may be the name of a person.
  local place = string.match(key, '^[^{]*')
  error(string.format('a key %s{...} holds no state of this limiter: delete it, or choose another prefix', place), 0)
end

-- Returns the numbers of the stored state, from `least` to `most`; none if there is no state.
local function load(least, most)
  local stored = redis.call('GET', key)
  if stored then return checked(least, most, pcall(cmsgpack.unpack, stored)) end
end

-- Returns the time at which a key may be forgotten, in milliseconds, if that is at `micros`. Rounded up.
local function expiry(micros)
  -- As an integer, which is written in a fifth of the time of a float.
  return string.format('%d', math.ceil(math.min(micros, 2 ^ 52) / 1000))
end

-- A command that the server refuses, for want of a right or of memory, ends the script, and the commands before it stay. So a
-- script that writes a key by several first tries them in a way that changes nothing, or does no harm, and takes permits by
-- the last one.

-- Has the key be forgotten at `micros`, if there is one. In a test, never.
local function expire(micros)
  if not is_test then redis.call('PEXPIREAT', key, expiry(micros)) end
end

-- Stores numbers until `micros`. In a test, whose time is not the server's, for ever.
local function save(micros, ...)
  if is_test then
    redis.call('SET', key, cmsgpack.pack(...))
  else
    redis.call('SET', key, cmsgpack.pack(...), 'PXAT', expiry(micros))
  end
end
