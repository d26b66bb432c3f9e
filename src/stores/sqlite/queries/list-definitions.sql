SELECT saved AS number, name, version, spec, created_at AS createdAt
FROM definition INDEXED BY definition_by_age
WHERE name = ? AND saved < ?
ORDER BY saved DESC
LIMIT ?
