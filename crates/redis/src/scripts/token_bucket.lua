-- A token bucket that is refilled smoothly, and to which permits can be given back.
--
-- State: the time; the whole tokens; the part of the next one, in fractions of `period`; that period; and up to four lots of
-- permits that were given back, each with its age and its number, the oldest first. Each microsecond earns
-- `gain / period` tokens, in lowest terms, so nothing is ever rounded, but a part when the rate changes: down, by less than one
-- of its fractions.
--
-- Ages. Number the tokens of a bucket in the order in which they are earned, and let a grant take the lowest numbers.
-- A token dies when `capacity` more have been earned: a bucket that nobody asks stays full by that. The
-- age of a lot is how many tokens have to be earned until its last permit dies; the one before it
-- dies one token earlier, and so on. What is given back keeps its age, so it never lets a span of time admit more
-- than capacity and what it earns.
--
-- Terms: capacity; gain; period; base of the long division; microseconds after which any bucket is full; tokens of the
-- deepest debt. Arguments of give_back: the time of the grant, its age and the part then, as its answer told them

local MAX_LOTS = 4

local capacity, gain, period, base, fill, debt = cmsgpack.unpack(terms)

-- Returns the tokens earned in `micros` after a time with `part` of one, and the part then.
local function earn(micros, part)
  if micros >= fill then return capacity + debt, 0 end
  local earned, rest = multiply_and_divide(micros, gain, period, base)
  if part + rest >= period then return earned + 1, part + rest - period end
  return earned, part + rest
end

local state = { load(4, 4 + 2 * MAX_LOTS) }
local at, tokens, part, period_then = unpack(state, 1, 4)
local lots, in_lots = {}, 0
-- Tokens that are dying, if a part of the next one is earned: a whole one is dead as soon as a part of it is.
local dying = 0
local is_set_back
if at then
  local elapsed, earned
  at, elapsed, is_set_back = since(at)
  -- After a change of the rate. As it stands, the part would be worth more or less.
  if period_then ~= period then part = multiply_and_divide(part, period, period_then, 2) end
  earned, part = earn(elapsed, part)
  tokens = tokens + earned
  if part > 0 then dying = 1 end
  for index = 5, #state, 2 do
    local age = state[index] - earned
    local size = math.min(state[index + 1], age - dying)
    if size > 0 then
      lots[#lots + 1] = { age = age, size = size }
      in_lots = in_lots + size
    end
  end
end
if not at or tokens >= capacity then
  at, tokens, part, lots, in_lots = now, capacity, 0, {}, 0
end

local function store()
  -- A float, and a thousandth of a millionth more than it is.
  local micros = (capacity - tokens) * (period / gain) * 1.000000001
  local numbers = { at, tokens, part, period }
  for _, lot in ipairs(lots) do
    numbers[#numbers + 1] = lot.age
    numbers[#numbers + 1] = lot.size
  end
  save(at + micros + 1, unpack(numbers))
end
if is_set_back then store() end

-- Takes permits, the oldest first, and returns the age of the grant: that of its last permit, such that none of them is
-- told to be younger than it is.
local function take(number)
  local age = math.huge
  while number > 0 and lots[1] do
    local lot = lots[1]
    local size = math.min(number, lot.size)
    number = number - size
    -- The last permits of a lot are its youngest, and remain.
    age = math.min(age + size, lot.age - lot.size + size)
    lot.size = lot.size - size
    in_lots = in_lots - size
    if lot.size == 0 then table.remove(lots, 1) end
  end
  tokens = tokens - number
  return number > 0 and math.min(age + number, capacity - tokens) or age
end

-- The answer: after the state, the age of the grant, and the lots.
local function answer(granted, age)
  local reply = { granted, now, at, tokens, part, age }
  for _, lot in ipairs(lots) do
    reply[#reply + 1] = lot.age
    reply[#reply + 1] = lot.size
  end
  return reply
end

if verb == 'give_back' then
  -- Joins lot `index` and the next: such that none of their permits gets older than it is.
  local function join(index)
    local older, younger = lots[index], table.remove(lots, index + 1)
    older.age = math.min(older.age + younger.size, younger.age)
    older.size = older.size + younger.size
  end

  local function put(age, size)
    local index = 1
    while lots[index] and lots[index].age <= age do index = index + 1 end
    table.insert(lots, index, { age = age, size = size })
    if #lots > MAX_LOTS then
      -- Where it makes the ages differ least.
      local nearest, least = 1, math.huge
      for pair = 1, #lots - 1 do
        local apart = lots[pair + 1].age - lots[pair].age
        if apart < least then nearest, least = pair, apart end
      end
      join(nearest)
    end
  end

  local elapsed, given = at - argument(1), 0
  if elapsed >= 0 and elapsed < fill then
    local age = argument(2) - earn(elapsed, argument(3))
    given = math.max(0, math.min(permits, age - dying, capacity - tokens - in_lots - dying))
    if given > 0 then
      if age == capacity - tokens then
        -- It is the last that was taken.
        tokens = tokens + given
      else
        put(age, given)
      end
      store()
    end
  end
  return answer(given, 0)
end
local room = tokens + in_lots
local granted, age = decide(room, room + debt), 0
if verb == 'reserve' and not granted then
  -- Of what will be earned: by then, what was given back may be lost.
  local waited = math.max(0, now + argument(1) - at)
  if permits - tokens <= debt and permits <= tokens + earn(waited, part) then
    granted, tokens = permits, tokens - permits
    age = capacity - tokens
  end
elseif granted and granted > 0 then
  age = take(granted)
end
if granted and not is_look then store() end
return answer(granted or -1, age)
