DELETE FROM outbox
USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS mark (shard, source, number)
WHERE outbox.target = mark.shard AND outbox.source = mark.source AND outbox.number <= mark.number
