-- A token bucket that is refilled at the end of each interval.
--
-- State: the time of the last refill, which moves on by whole intervals, so that no remainder is lost; and
-- the tokens. A bucket that was full for a whole interval is forgotten: its intervals begin with the next
-- request.
--
-- Terms: capacity; tokens of one interval; microseconds of an interval; tokens of the deepest debt. Arguments of
-- give_back: the state that the grant left

local capacity, gain, interval, debt = cmsgpack.unpack(terms)

local at, tokens = load(2, 2)

local function store()
  save(at + (divide_up(capacity - tokens, gain) + 1) * interval, at, tokens)
end

if verb == 'give_back' then
  -- Exact, because nothing has happened since.
  local given = at == argument(1) and tokens == argument(2) and math.min(permits, capacity - tokens) or 0
  if given > 0 then
    tokens = tokens + given
    store()
  end
  return { given, now, at or now, tokens or capacity }
end
if at then
  local from, elapsed, is_set_back = since(at)
  -- Earlier only if the clock was set back.
  at = math.min(at, from)
  tokens = math.min(tokens, capacity)
  if is_set_back then store() end
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

local granted = decide(tokens, tokens + debt)
if verb == 'reserve' and not granted then
  local missing = permits - tokens
  if missing <= debt and at + divide_up(missing, gain) * interval <= now + argument(1) then granted = permits end
end
if granted then
  tokens = tokens - granted
  if not is_look then store() end
end
return { granted or -1, now, at, tokens }
