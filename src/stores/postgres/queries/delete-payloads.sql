DELETE FROM payload WHERE instance = ANY ($1::bigint[])
