-- Makes shares of one limit full, of all tenants that have a place.
--
-- KEYS[1]  common bucket
-- behind   places of the groups, which name the own buckets. The name of a ceiling differs in one word

local begin = #KEYS[1] + #':assured' + 1
for index = 2, #KEYS do
  for _, own in ipairs(redis.call('ZRANGE', KEYS[index], '0', '-1')) do
    redis.call('DEL', own, KEYS[1] .. ':ceiling' .. string.sub(own, begin))
  end
end
redis.call('DEL', unpack(KEYS))
return { 0 }
