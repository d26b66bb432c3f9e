SELECT epoch, owner, batch, last_key AS lastKey, clean
FROM shard
WHERE shard = ?1
