DELETE FROM finished WHERE key = ANY ($1::bigint[])
