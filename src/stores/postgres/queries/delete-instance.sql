DELETE FROM instance WHERE key = ANY ($1::bigint[])
