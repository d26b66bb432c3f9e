SELECT shard, idempotency_key AS key, at, refusal FROM request WHERE shard = ? AND idempotency_key = ?
