-- The generic cell rate algorithm.
--
-- State: the time, and the units of a nanosecond or more by which the theoretical arrival time of the next
-- cell is ahead of it.
--
-- Arguments: most units ahead, tolerance and interval together; units of an interval; units of a microsecond;
-- microseconds after which nothing is ahead

local capacity, interval, speed, fill = argument(1), argument(2), argument(3), argument(4)

local at, ahead = unpack(load())
if at then
  local elapsed
  at, elapsed = since(at)
  ahead = elapsed >= fill and 0 or math.max(0, ahead - elapsed * speed)
else
  at, ahead = now, 0
end

local granted = decide((divide(math.max(0, capacity - ahead), interval)))
if granted then
  ahead = ahead + granted * interval
  if verb ~= 'peek' then
    save(at + divide_up(ahead, speed), at, ahead)
  end
end
return { granted or -1, now, at, ahead }
