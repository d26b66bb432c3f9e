SELECT shard, key, at, refusal FROM request WHERE shard = ? AND key = ?
