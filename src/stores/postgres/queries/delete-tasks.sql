DELETE FROM task WHERE instance = ANY ($1::bigint[])
