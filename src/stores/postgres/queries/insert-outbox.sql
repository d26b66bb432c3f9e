INSERT INTO outbox (source, target, number, body)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])
