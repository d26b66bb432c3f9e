INSERT INTO mailbox (mailbox, body, at)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
