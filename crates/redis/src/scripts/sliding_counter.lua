-- The counts of two windows, the older of which counts in part: in proportion to the part of it that a window
-- of the same length, ending now, still covers.
--
-- State: the number of the present window; the permits granted in the window before; those in this one.
--
-- Terms: limit; microseconds of the window; base of the long division. Argument of give_back: the number of the window that
-- was charged

local limit, length, base = cmsgpack.unpack(terms)

local present = divide(now, length)
local window, previous, current = load(3, 3)

local function save_counts()
  save((window + 2) * length, window, previous, current)
end

if not window or window < present - 1 then
  window, previous, current = present, 0, 0
elseif window == present - 1 then
  window, previous, current = present, current, 0
elseif is_ahead(window * length) then
  -- What was granted counts as of now, all of it: how much of the window before still counted is not known any more.
  window, previous, current = present, 0, previous + current
  save_counts()
end

if verb == 'give_back' then
  local given = 0
  if window == argument(1) then
    given = math.min(permits, current)
    current = current - given
  elseif window - 1 == argument(1) then
    given = math.min(permits, previous)
    previous = previous - given
  end
  if given > 0 then save_counts() end
  return { given, now, window, previous, current }
end
local covered = math.min((window + 1) * length - now, length)
local weight, rest = multiply_and_divide(covered, previous, length, base)
if rest > 0 then weight = weight + 1 end
local granted = decide(limit - current - weight, MOST_COUNT - current)
if granted then
  current = current + granted
  if not is_look then save_counts() end
end
return { granted or -1, now, window, previous, current }
