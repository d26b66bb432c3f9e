SELECT epoch, owner, last_batch AS lastBatch, last_key AS lastKey, released
FROM heddle_shard
WHERE shard = ?1
