SELECT shard, idempotency_key AS idempotencyKey, at, refusal FROM request WHERE shard = ? AND idempotency_key = ?
