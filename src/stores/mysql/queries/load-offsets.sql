SELECT shard, source, number
FROM heddle_inbound_offset
WHERE shard = ?1
ORDER BY source
