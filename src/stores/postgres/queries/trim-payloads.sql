DELETE FROM payload
USING unnest($1::bigint[], $2::bigint[]) AS trimmed (instance, ref)
WHERE payload.instance = trimmed.instance AND payload.ref < trimmed.ref
