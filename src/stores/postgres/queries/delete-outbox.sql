DELETE FROM outbox
USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS passed (shard, source, number)
WHERE outbox.target = passed.shard AND outbox.source = passed.source AND outbox.number <= passed.number
