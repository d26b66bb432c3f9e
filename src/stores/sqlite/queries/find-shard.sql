SELECT epoch, owner, last_batch AS lastBatch, last_key AS lastKey, released
FROM shard
WHERE shard = ?1
