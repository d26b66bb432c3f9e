UPDATE shard
SET batch = ?1, last_key = ?2, clean = ?3
WHERE shard = ?4 AND epoch = ?5 AND batch = ?1 - 1
