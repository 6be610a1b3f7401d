-- A token bucket that is refilled smoothly.
--
-- State: the time; the whole tokens; and the part of the next one, in fractions of `period`.
-- Each microsecond earns `gain / period` tokens, in lowest terms, so nothing is ever rounded.
--
-- Arguments: capacity; gain; period; base of the long division; microseconds after which any bucket is full

local capacity, gain, period, base, fill = argument(1), argument(2), argument(3), argument(4), argument(5)

local at, tokens, part = load()
if at then
  local elapsed
  at, elapsed = since(at)
  -- After a change of the rate, a part could be more than a token.
  part = math.min(part, period - 1)
  if elapsed >= fill then
    tokens = capacity
  elseif elapsed > 0 then
    local earned, rest = multiply_and_divide(elapsed, gain, period, base)
    tokens, part = tokens + earned, part + rest
  end
  if part >= period then tokens, part = tokens + 1, part - period end
end
if not at or tokens >= capacity then
  at, tokens, part = now, capacity, 0
end

local granted = decide(tokens)
if granted then
  tokens = tokens - granted
  if verb ~= 'peek' then
    -- A float, and a thousandth of a millionth more than it is.
    local micros = (capacity - tokens) * (period / gain) * 1.000000001
    save(at + micros + 1, at, tokens, part)
  end
end
return { granted or -1, now, at, tokens, part }
