SELECT shard, key, at, refusal FROM request WHERE shard = $1 AND key = $2
