-- Shares of one limit. A tenant's own bucket is asked first, and then the common one. That the bound holds, and that no tenant is
-- refused its share, is proved in shares.rs.
--
-- KEYS[1]  common bucket
-- KEYS[2]  the tenant's own bucket; if there is none, the tenant only borrows
-- KEYS[3]  places of the group: the names of own buckets that are not full, by the times at which they will be
-- KEYS[4]  the tenant's ceiling, if it has one
--
-- State of a bucket: the time; the whole tokens; the part of the next one, in fractions of `period`. Each microsecond
-- earns `gain / period` tokens, in lowest terms, so nothing is ever rounded.
--
-- Terms: permits that a borrower leaves; places of the group; and for each bucket its capacity; gain; period; base of the long
-- division; microseconds after which it is full in any case; tokens of the deepest debt. Verbs: take and peek. (No permits
-- are a peek.)
--
-- Replies with the permits granted, or -1; the time; 1 if they are of the share, otherwise 0; the time at which the group has
-- a place, if the tenant was refused for want of one, otherwise 0; and the state of each bucket.

local numbers = { cmsgpack.unpack(terms) }
local kept, places = numbers[1], numbers[2]

-- Returns the time at which a bucket is full, rounded up.
local function full_at(bucket)
  local missing = bucket.capacity - bucket.tokens
  if missing <= 0 then return bucket.at end
  -- An estimate, for which a double is exact enough.
  if missing * (bucket.period / bucket.gain) > 2 ^ 51 then return bucket.at + 2 ^ 51 end
  -- A gain is below 2^42, so 2^10 is a base for it.
  local micros, rest = multiply_and_divide(bucket.period, missing, bucket.gain, 2 ^ 10)
  if rest > bucket.part then return bucket.at + micros + 1 end
  return bucket.at + micros - divide(bucket.part - rest, bucket.gain)
end

local function store(bucket)
  key = bucket.key
  save(full_at(bucket), bucket.at, bucket.tokens, bucket.part)
end

-- Returns the bucket of a key by now, whose terms begin at `first`.
local function read(name, first)
  local capacity, gain, period, base, fill, debt = unpack(numbers, first, first + 5)
  key = name
  local at, tokens, part = load(3, 3)
  local elapsed, is_set_back
  if at then
    at, elapsed, is_set_back = since(at)
    if elapsed >= fill then
      tokens = capacity
    else
      -- After a change of the rate, a part could be more than a token.
      part = math.min(part, period - 1)
      local earned, rest = multiply_and_divide(elapsed, gain, period, base)
      tokens, part = tokens + earned, part + rest
      if part >= period then tokens, part = tokens + 1, part - period end
    end
  end
  if not at or tokens >= capacity then at, tokens, part = now, capacity, 0 end
  local bucket = {
    key = name, capacity = capacity, gain = gain, period = period, fill = fill, debt = debt,
    at = at, tokens = tokens, part = part,
  }
  if is_set_back then store(bucket) end
  return bucket
end

-- Time does not go back behind the common bucket's.
local time = now
local common = read(KEYS[1], 3)
now = math.max(now, common.at)
local own = KEYS[2] and read(KEYS[2], 9)
local ceiling = KEYS[4] and read(KEYS[4], 15)

-- Returns 0 if the tenant has a place or there is one for it, or the time at which there is one.
local function place_at()
  local score = redis.call('ZSCORE', KEYS[3], KEYS[2])
  if score and tonumber(score) > now then return 0 end
  -- A bucket that will be full later than an empty one was written before the clock was set back.
  local latest = string.format('%d', now + own.fill)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. latest, '+inf')) do
    redis.call('ZADD', KEYS[3], latest, name)
  end
  local after = string.format('(%d', now)
  if redis.call('ZCOUNT', KEYS[3], after, '+inf') < places then return 0 end
  local first = redis.call('ZRANGEBYSCORE', KEYS[3], after, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  return tonumber(first[2])
end

-- Takes the permits of a bucket, whatever it holds.
local function take(bucket)
  bucket.tokens = math.max(bucket.tokens - permits, -bucket.debt)
end

local is_of_share = own and permits <= own.tokens
local free_at = is_of_share and permits > 0 and place_at() or 0
is_of_share = is_of_share and free_at == 0
local is_lent = permits == 0 or permits + kept <= common.tokens
  and (not ceiling or permits + own.capacity <= ceiling.tokens)

if is_of_share or is_lent then
  take(common)
  if ceiling then take(ceiling) end
  if is_of_share then take(own) end
  if not is_look then
    if is_of_share then
      -- All of the group's places are free by then.
      local latest = now + own.fill
      key = KEYS[3]
      expire(latest)
      redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%d', now))
      local is_new = redis.call('ZADD', KEYS[3], string.format('%d', full_at(own)), KEYS[2])
      if is_new == 1 then
        key = KEYS[3]
        expire(latest)
      end
      store(own)
    end
    if ceiling then store(ceiling) end
    store(common)
  end
end

local granted = (is_of_share or is_lent) and permits or -1
local reply = { granted, time, is_of_share and 1 or 0, free_at }
for _, bucket in ipairs({ common, own or nil, ceiling or nil }) do
  reply[#reply + 1] = bucket.at
  reply[#reply + 1] = bucket.tokens
  reply[#reply + 1] = bucket.part
end
return reply
