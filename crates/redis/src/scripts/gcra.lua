-- The generic cell rate algorithm.
--
-- State: the time, and the units of a nanosecond or more by which the theoretical arrival time of the next
-- cell is ahead of it.
--
-- Terms: most units ahead, tolerance and interval together; units of an interval; units of a microsecond;
-- microseconds after which nothing is ahead; units of the deepest debt. Arguments of give_back: the state that the grant
-- left

local capacity, interval, speed, fill, debt = cmsgpack.unpack(terms)

local at, ahead = load(2, 2)

local function store()
  save(at + divide_up(ahead, speed), at, ahead)
end

if verb == 'give_back' then
  -- Exact, because nothing has happened since.
  local given = at == argument(1) and ahead == argument(2) and math.min(permits, (divide(ahead, interval))) or 0
  if given > 0 then
    ahead = ahead - given * interval
    store()
  end
  return { given, now, at or now, ahead or 0 }
end
if at then
  local elapsed, is_set_back
  at, elapsed, is_set_back = since(at)
  ahead = elapsed >= fill and 0 or math.max(0, ahead - elapsed * speed)
  if is_set_back then store() end
else
  at, ahead = now, 0
end

local room = divide(math.max(0, capacity - ahead), interval)
local granted = decide(room, (divide(math.max(0, capacity + debt - ahead), interval)))
if verb == 'reserve' and not granted then
  local beyond = ahead + permits * interval - capacity
  if beyond <= debt and at + divide_up(beyond, speed) <= now + argument(1) then granted = permits end
end
if granted then
  ahead = ahead + granted * interval
  if not is_look then store() end
end
return { granted or -1, now, at, ahead }
