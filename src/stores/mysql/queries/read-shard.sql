SELECT epoch, owner, batch, last_key AS lastKey, clean
FROM heddle_shard
WHERE shard = ?1
