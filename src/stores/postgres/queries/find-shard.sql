-- Locks the row: nobody else claims the shard or commits to it until the transaction ends.
SELECT epoch, owner, last_batch AS "lastBatch", last_key AS "lastKey", released
FROM shard
WHERE shard = $1
FOR UPDATE
