SELECT kind, name, revision, at, body
FROM document
WHERE kind = ? AND name = ?
