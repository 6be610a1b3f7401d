-- Permits in flight, which their holders give back, or which come back when their time is over.
--
-- State, a sorted set: the member `ID:PERMITS` for each holder, with the time until which it holds them as its score;
-- and the member `#`, whose score is all permits in flight, negative, so that it comes before all times.
--
-- Verbs: enter, again with the same holder if an answer was lost; renew; leave; peek.
--
-- Terms: limit; microseconds for which permits are held. Argument: the holder

local limit, hold = cmsgpack.unpack(terms)
local member = string.format('%s:%.0f', ARGV[5], permits)

local function permits_of(holder)
  return tonumber(string.match(holder, ':(%d+)$'))
end

-- Returns the time until which the last holder holds its permits, if there is one.
local function last_time()
  return tonumber(redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2])
end

local last = last_time()
if last and is_ahead(last - hold) then
  -- The clock was set back: nobody holds permits for longer than from now on, with the same distances.
  local holders = redis.call('ZRANGEBYSCORE', key, '0', '+inf', 'WITHSCORES')
  for index = 1, #holders, 2 do
    local moved = math.max(0, tonumber(holders[index + 1]) - (last - now - hold))
    redis.call('ZADD', key, moved, holders[index])
  end
  last = now + hold
end

local used = -tonumber(redis.call('ZSCORE', key, '#') or 0)
for _, holder in ipairs(redis.call('ZRANGEBYSCORE', key, '0', now)) do used = used - permits_of(holder) end
local until_time = tonumber(redis.call('ZSCORE', key, member) or 0)
local is_held = until_time > now

local granted
if verb == 'leave' then
  granted = is_held and permits or 0
elseif is_held or verb ~= 'renew' and used + permits <= limit then
  granted = permits
end

if not granted or granted == 0 or is_look then
  -- Finds the time at which enough has come back, even if all holders were gone.
  local missing, enough = used + permits - limit, now
  if missing > 0 then
    local holders = redis.call('ZRANGEBYSCORE', key, string.format('(%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', '0', missing)
    for index = 1, #holders, 2 do
      if missing > 0 then
        missing, enough = missing - permits_of(holders[index]), tonumber(holders[index + 1])
      end
    end
  end
  return { granted or -1, now, used, math.max(0, (last or now) - now), enough - now }
end

if verb == 'leave' then
  used = used - permits
  if used == 0 then
    redis.call('DEL', key)
    return { granted, now, 0, 0, 0 }
  end
  -- The first one needs no memory: so a server without any refuses none of them.
  redis.call('ZREM', key, '')
  redis.call('ZADD', key, 'XX', '0', '')
  redis.call('ZREMRANGEBYSCORE', key, '0', now)
  redis.call('ZREM', key, member)
  redis.call('ZADD', key, -used, '#')
  last = last_time()
else
  if not is_held then used = used + permits end
  last = math.max(now + hold, last or 0)
  redis.call('ZADD', key, 'XX', '0', '')
  expire(last)
  redis.call('ZREMRANGEBYSCORE', key, '0', now)
  redis.call('ZADD', key, -used, '#', now + hold, member)
  -- The key may be new.
  if used == permits then expire(last) end
end
return { granted, now, used, math.max(0, last - now), 0 }
