SELECT shard, source, number
FROM inbound_offset
WHERE shard = $1
ORDER BY source
