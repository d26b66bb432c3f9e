SELECT shard, idempotency_key AS idempotencyKey, at, refusal FROM heddle_request WHERE shard = ?1 AND idempotency_key = ?2
