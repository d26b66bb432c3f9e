INSERT INTO payload (instance, ref, body)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])
