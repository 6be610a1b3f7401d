-- A fixed window, which begins with a multiple of its length, or with the first request.
--
-- State: the start of the window, and the permits granted in it.
--
-- Terms: limit; microseconds of the window; 1 if it begins with a multiple. Argument of give_back: the start of the window
-- that was charged

local limit, length, is_aligned = cmsgpack.unpack(terms)

local present = is_aligned == 1 and now - math.fmod(now, length) or now
local start, count = load(2, 2)
-- A window of which all was given back has not begun.
if not start or start + length <= now or count == 0 then
  start, count = present, 0
elseif is_ahead(start) then
  -- What was granted counts in the present window.
  start = present
  save(start + length, start, count)
end

if verb == 'give_back' then
  local given = start == argument(1) and math.min(permits, count) or 0
  if given > 0 then
    count = count - given
    save(start + length, start, count)
  end
  return { given, now, start, count }
end
local granted = decide(limit - count, MOST_COUNT - count)
if granted then
  count = count + granted
  if not is_look then save(start + length, start, count) end
end
return { granted or -1, now, start, count }
