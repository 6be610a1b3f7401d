-- The request, with which all scripts begin.
--
-- KEYS[1]  key of the limiter
-- KEYS[2]  for give_back, if it may be delivered twice: a marker, by which it does nothing a second time
-- ARGV[1]  terms: the numbers of the limit, in MessagePack, which takes a fraction of the time of reading as many texts
-- ARGV[2]  verb; take, if there is none
-- ARGV[3]  permits, from 1 to the limit; for charge up to 2^47; 1, if there are none
-- ARGV[4]  time in microseconds since 1970; that of the server, if there is none or it is empty
-- ARGV[5]  first argument of the verb
--
-- Most requests take a permit, and have the terms alone: each argument takes the server as long as some arithmetic.
--
-- Verbs:
--   take       takes all permits or none
--   up_to      takes at least one
--   lease      takes at least as many as its argument says
--   leave      takes all permits or none, such that as many as its argument says remain
--   peek       takes nothing
--   look       takes nothing, and answers as leave
--   reserve    takes all for an instant at which they are earned, if that is at most so many microseconds away
--   charge     takes as many as a debt, or a count, has room for
--   give_back  gives permits of a grant back, which its reply has described
--
-- Each script replies with integers: the permits granted, charged or given back, or -1 for a denial; the time; and its
-- own state.
--
-- A number of Lua is a double, exact for integers up to 2^53. Every sum and product here stays below that,
-- by the bounds that the program checks when a limit is made. MessagePack keeps them as integers, and a number that is
-- an argument of a call is written in all its digits. (`..` and `tostring` would round it.)

-- The request. A script of several limits puts another one here for each of them.
local key, terms, verb = KEYS[1], ARGV[1], ARGV[2] or 'take'
local permits = tonumber(ARGV[3] or 1)
-- True if nothing is to be written.
local is_look = verb == 'peek' or verb == 'look'

local is_test = (ARGV[4] or '') ~= ''

local now
if is_test then
  now = tonumber(ARGV[4])
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
