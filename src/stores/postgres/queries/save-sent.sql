INSERT INTO sent (source, target, number)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
ON CONFLICT (source, target) DO UPDATE SET number = excluded.number
