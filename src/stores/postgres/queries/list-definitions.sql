SELECT saved AS number, name, version, spec, created_at AS "createdAt"
FROM definition
WHERE name = $1 AND saved < $2
ORDER BY saved DESC
LIMIT $3
