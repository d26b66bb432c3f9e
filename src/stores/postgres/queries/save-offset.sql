INSERT INTO inbound_offset (shard, source, number)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
ON CONFLICT (shard, source) DO UPDATE SET number = excluded.number
