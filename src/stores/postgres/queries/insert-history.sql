INSERT INTO history (instance, turn, first_event, at, events)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
