SELECT ref, body
FROM payload
WHERE instance = $1 AND ref = ANY ($2::bigint[])
