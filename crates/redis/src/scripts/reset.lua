-- Makes a limiter of any kind full again.

redis.call('DEL', KEYS[1])
return { 0 }
