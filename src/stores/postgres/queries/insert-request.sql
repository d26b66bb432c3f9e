INSERT INTO request (shard, idempotency_key, at, refusal)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[])
