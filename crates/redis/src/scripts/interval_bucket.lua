-- A token bucket that is refilled at the end of each interval.
--
-- State: the time of the last refill, which moves on by whole intervals, so that no remainder is lost; and
-- the tokens. A bucket that was full for a whole interval is forgotten: its intervals begin with the next
-- request.
--
-- Arguments: capacity; tokens of one interval; microseconds of an interval

local capacity, gain, interval = argument(1), argument(2), argument(3)

local at, tokens = unpack(load())
if at then
  local from, elapsed = since(at)
  -- Earlier only if the clock was set back.
  at = math.min(at, from)
  tokens = math.min(tokens, capacity)
  local missing = divide_up(capacity - tokens, gain)
  local intervals, rest = divide(elapsed, interval)
  if intervals > missing then
    at = nil
  elseif intervals > 0 then
    at, tokens = now - rest, math.min(capacity, tokens + intervals * gain)
  end
end
if not at then
  at, tokens = now, capacity
end

local granted = decide(tokens)
if granted then
  tokens = tokens - granted
  if verb ~= 'peek' then
    save(at + (divide_up(capacity - tokens, gain) + 1) * interval, at, tokens)
  end
end
return { granted or -1, now, at, tokens }
