DELETE FROM history WHERE instance = ANY ($1::bigint[])
