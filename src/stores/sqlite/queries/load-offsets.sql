SELECT shard, source, number
FROM inbound_offset
WHERE shard = ?
ORDER BY source
