-- Makes limiters of any kind full again.

redis.call('DEL', unpack(KEYS))
return { 0 }
