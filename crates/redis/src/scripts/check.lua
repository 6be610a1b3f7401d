-- Tries commands, and returns for each of them 1 if the user may not run it, and 0 otherwise. The caller gives
-- each of them arguments by which it changes nothing.
--
-- Arguments: for each command, the number of its words, and the words; KEY stands for the key

local denied, place = {}, 1
while ARGV[place] do
  local words = {}
  for index = 1, tonumber(ARGV[place]) do
    local word = ARGV[place + index]
    words[index] = word == 'KEY' and KEYS[1] or word
  end
  place = place + #words + 1
  local reply = redis.pcall(unpack(words))
  local cause = type(reply) == 'table' and reply.err or ''
  -- The second is how Redis before version 7 says it.
  local is_denied = string.find(cause, 'NOPERM', 1, true) or string.find(cause, "executing the script can't", 1, true)
  denied[#denied + 1] = is_denied and 1 or 0
end
return denied
