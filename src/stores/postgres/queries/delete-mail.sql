DELETE FROM mail WHERE id = ANY ($1::bigint[])
