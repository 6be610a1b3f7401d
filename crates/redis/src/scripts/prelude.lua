-- The part that all scripts begin with.
--
-- KEYS[1]  key of the limiter
-- KEYS[2]  for give_back, if it may be delivered twice: a marker, by which it does nothing a second time
-- ARGV[1]  verb
-- ARGV[2]  permits, from 1 to the limit; for charge up to 2^47
-- ARGV[3]  time in microseconds since 1970; empty for that of the server
-- ARGV[4]  terms: the numbers of the limit, in MessagePack, which takes a fraction of the time of reading as many texts
-- ARGV[5]  first argument of the verb
--
-- Verbs:
--   take       takes all permits or none
--   up_to      takes at least one
--   lease      takes at least as many as its argument says
--   peek       takes nothing
--   reserve    takes all for an instant at which they are earned, if that is at most so many microseconds away
--   charge     takes as many as a debt, or a count, has room for
--   give_back  gives permits of a grant back, which its reply has described
--
-- Each script replies with integers: the permits granted, charged or given back, or -1 for a denial; the time; and its
-- own state.
--
-- A number of Lua is a double, exact for integers up to 2^53. Every sum and product here stays below that,
-- by the bounds that the program checks when a limit is made. MessagePack keeps them as integers, and a number that is
-- an argument of a call is written in all its digits. (`..` and `tostring` would round it.)

local MICROS_OF_SKEW = 1000000

-- The largest count of a window, below which sums of two are exact.
local MOST_COUNT = 2 ^ 47

-- The request. A script of several limits puts another one here for each of them.
local key, verb, permits, terms = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[4]
-- True if nothing is to be written.
local is_look = verb == 'peek'

local is_test = ARGV[3] ~= ''

-- Returns an argument of the verb.
local function argument(index)
  return tonumber(ARGV[4 + index])
end

local now
if is_test then
  now = tonumber(ARGV[3])
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
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

-- Returns the time from which a state counts that was written at `at`, and the time passed since. If the
-- clock was set back a little, time stands still until then; if by more, the state counts from now on.
local function since(at)
  if at > now + MICROS_OF_SKEW then return now, 0 end
  if at > now then return at, 0 end
  return now, now - at
end

-- Returns the permits that have to be left for a grant.
local function needed()
  if verb == 'lease' then return argument(1) end
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

-- Time at which a key may be forgotten, in milliseconds, if that is at `micros`. Rounded up.
local function expiry(micros)
  return math.ceil(math.min(micros, 2 ^ 52) / 1000)
end

-- Stores numbers until `micros`. In a test, whose time is not the server's, for ever.
local function save(micros, ...)
  if is_test then
    redis.call('SET', key, cmsgpack.pack(...))
  else
    redis.call('SET', key, cmsgpack.pack(...), 'PXAT', expiry(micros))
  end
end
