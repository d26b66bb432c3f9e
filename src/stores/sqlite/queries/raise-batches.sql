UPDATE shard
SET last_batch = ?1, last_key = ?2, released = ?3
WHERE shard = ?4 AND epoch = ?5 AND last_batch = ?1 - 1
