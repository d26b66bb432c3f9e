-- From here on nobody else claims the shard or commits to it, until the transaction ends.
SELECT epoch, owner, batch, last_key AS "lastKey", clean
FROM shard
WHERE shard = $1
FOR UPDATE
