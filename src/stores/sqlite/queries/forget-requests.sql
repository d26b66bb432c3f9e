DELETE FROM request WHERE shard = ? AND at < ?
