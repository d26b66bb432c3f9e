SELECT epoch, owner, last_batch AS batch, last_key AS lastKey, released AS clean
FROM heddle_shard
WHERE shard = ?1
