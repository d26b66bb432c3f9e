DELETE FROM document WHERE kind = $1 AND name = $2 AND revision = $3
RETURNING revision
