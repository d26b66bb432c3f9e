SELECT kind, name, revision, at, body
FROM document
WHERE kind = $1 AND name = $2
