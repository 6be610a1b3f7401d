-- Shares of one limit. A tenant's own bucket is asked first, and then the common one. That the bound holds, and that no tenant is
-- refused its share, is proved in shares.rs.
--
-- KEYS[1]  common bucket
-- KEYS[2]  the tenant's own bucket; if there is none, the tenant only borrows
-- KEYS[3]  places of the group, unless each of its tenants has its own: the names of own buckets that are not full, by the
--          times at which they will be
-- behind   the tenant's ceiling, if it has one
--
-- State of a bucket: the time; the whole tokens; the part of the next one, in fractions of `period`; and that period. Each
-- microsecond earns `gain / period` tokens, in lowest terms, so nothing is ever rounded, but a part when the period changes:
-- down, by less than one of its fractions.
--
-- Terms: permits that a borrower leaves; places of the group, 0 if each tenant has its own; and for each bucket its capacity;
-- gain; period; base of the long division; microseconds after which it is full in any case; tokens of the deepest debt.
-- Verbs: take and peek. (No permits are a peek.)
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
  save(full_at(bucket), bucket.at, bucket.tokens, bucket.part, bucket.period)
end

-- Returns the bucket of a key by now, whose terms begin at `first`.
local function read(name, first)
  local capacity, gain, period, base, fill, debt = unpack(numbers, first, first + 5)
  key = name
  local at, tokens, part, period_then = load(4, 4)
  local elapsed, is_set_back
  if at then
    at, elapsed, is_set_back = since(at)
    if elapsed >= fill then
      tokens = capacity
    else
      -- After a change of the rate. As it stands, the part would be worth more or less.
      if period_then ~= period then part = multiply_and_divide(part, period, period_then, 2) end
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
local ceiling_key = KEYS[places > 0 and 4 or 3]
local ceiling = ceiling_key and read(ceiling_key, 15)

-- Returns 0 if the tenant has a place or there is one for it, or the time at which there is one.
local function place_at()
  if places == 0 then return 0 end
  local score = redis.call('ZSCORE', KEYS[3], KEYS[2])
  -- After a change to fewer places, those that are taken for the longest stay.
  if score and tonumber(score) > now and redis.call('ZREVRANK', KEYS[3], KEYS[2]) < places then return 0 end
  -- A bucket that will be full later than an empty one was written before the clock was set back. There may be so many of them
  -- that the server would do nothing else for seconds, so each request moves a part.
  local latest = string.format('%d', now + own.fill)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. latest, '+inf', 'LIMIT', '0', '1000')) do
    redis.call('ZADD', KEYS[3], latest, name)
  end
  local after = string.format('(%d', now)
  local beyond = redis.call('ZCOUNT', KEYS[3], after, '+inf') - places
  if beyond < 0 then return 0 end
  local last = redis.call('ZRANGEBYSCORE', KEYS[3], after, '+inf', 'WITHSCORES', 'LIMIT', beyond, '1')
  return tonumber(last[2])
end

-- Takes the permits of a bucket, whatever it holds. A debt that is deeper by the numbers of another caller stays.
local function take(bucket)
  bucket.tokens = math.max(bucket.tokens - permits, math.min(bucket.tokens, -bucket.debt))
end

-- Notes until when the tenant has its place.
local function keep_place()
  -- All of the group's places are free by then.
  local latest, score = now + own.fill, string.format('%d', full_at(own))
  key = KEYS[3]
  -- The first one needs memory: so a server without any refuses all of them.
  redis.call('ZADD', key, 'XX', score, KEYS[2])
  expire(latest)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now))
  -- The key may be new.
  if redis.call('ZADD', key, score, KEYS[2]) == 1 then expire(latest) end
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
      if places > 0 then keep_place() end
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
