-- Scans like list-finished-by-status, but only the rows of one namespace, which is not the default one.
SELECT key, id, workflow, version, status, generation,
  created_at AS "createdAt", ended_at AS "endedAt", reason, NULL AS quarantined, app
FROM finished
WHERE status = $1
  AND ($2::text IS NULL OR workflow = $2)
  AND ($3::text IS NULL OR (id >= $3 AND id < $4))
  AND created_at >= $5 AND created_at <= $6 AND (created_at < $7 OR key < $8)
  AND namespace = $10 AND namespace <> '' AND ($11::text IS NULL OR app = $11)
ORDER BY created_at DESC, key DESC
LIMIT $9
