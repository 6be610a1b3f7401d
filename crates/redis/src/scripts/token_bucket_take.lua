-- Takes permits from a bucket to which none were given back: most requests. It stands ahead of all functions, because each run
-- of a script makes its functions anew, which takes longer than all of this. Whatever it does not decide, the rest of the
-- script does, from the beginning.

if verb == 'take' then
  local capacity, gain, period, _, fill = cmsgpack.unpack(terms)
  local stored = redis.call('GET', key)
  local is_state, at, tokens, part, period_then, lot = true, now, capacity, 0, period, nil
  if stored then is_state, at, tokens, part, period_then, lot = pcall(cmsgpack.unpack, stored) end
  if is_state and period_then == period and not lot and at <= now then
    local elapsed = now - at
    -- After that time the bucket is full.
    if elapsed > fill then elapsed = fill end
    local product = elapsed * gain + part
    -- Below that, `%` is exact, and takes less time than `fmod`.
    if product < 2 ^ 52 then
      part = product % period
      tokens = tokens + (product - part) / period
      if tokens >= capacity then tokens, part = capacity, 0 end
      if permits > tokens then return { -1, now, now, tokens, part, 0 } end
      tokens = tokens - permits
      local missing, state = capacity - tokens, cmsgpack.pack(now, tokens, part, period)
      if is_test then
        redis.call('SET', key, state)
      else
        -- As in `store`; the format cuts a fraction off.
        local full = now + missing * (period / gain) * 1.000000001 + 1
        redis.call('SET', key, state, 'PXAT', string.format('%d', math.min(full, 2 ^ 52) / 1000 + 1))
      end
      return { permits, now, now, tokens, part, missing }
    end
  end
end
