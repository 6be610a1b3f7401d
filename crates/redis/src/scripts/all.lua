-- Several limits, of which all grant or none.
--
-- `limits` has the scripts of the limits, as functions. A request looks at all but the last of them first, so those that
-- would grant write nothing if one denies.
--
-- KEYS     a key for each limit
-- ARGV[1]  empty
-- ARGV[2]  verb: take, up_to or peek
-- ARGV[3]  empty
-- ARGV[4]  time, as for one limit
-- Then for each limit: the name of its script; permits; terms.
--
-- Replies for each limit with the number of integers of its reply, and its reply.

local claims, all_verb = {}, verb
for index = 1, #KEYS do
  local script, own_permits, own_terms = unpack(ARGV, 3 * index + 2, 3 * index + 4)
  claims[index] = { script = script, permits = tonumber(own_permits), terms = own_terms }
end

-- Returns the reply of a limit.
local function ask(index, claim_verb, claim_permits, only_looks)
  local claim = claims[index]
  key, verb, permits, is_look, terms = KEYS[index], claim_verb, claim_permits, only_looks, claim.terms
  return limits[claim.script]()
end

local replies, least, is_denied = {}, math.huge, false
-- The last decides by taking, if all others would grant.
local taken = 0
for index, claim in ipairs(claims) do
  local takes = index == #claims and all_verb == 'take' and claim.permits > 0 and not is_denied
  replies[index] = ask(index, all_verb, claim.permits, not takes)
  if takes then taken = index end
  -- A request for nothing is granted by any limit, also by one in debt.
  if claim.permits > 0 then
    is_denied = is_denied or replies[index][1] < 0
    least = math.min(least, replies[index][1])
  end
end
if not is_denied and all_verb ~= 'peek' then
  for index, claim in ipairs(claims) do
    local granted = all_verb == 'up_to' and least or claim.permits
    if claim.permits > 0 and index ~= taken then replies[index] = ask(index, 'take', granted, false) end
  end
end

local all = {}
for _, reply in ipairs(replies) do
  all[#all + 1] = #reply
  for _, number in ipairs(reply) do all[#all + 1] = number end
end
return all
