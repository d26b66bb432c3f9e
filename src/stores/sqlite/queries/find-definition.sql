SELECT name, version, spec, created_at AS createdAt
FROM definition
WHERE name = ? AND version = ?
