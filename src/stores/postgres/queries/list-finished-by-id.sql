-- Reads all rows of one id prefix, which are few, and sorts them.
SELECT key, id, workflow, version, status, generation,
  created_at AS "createdAt", ended_at AS "endedAt", reason, NULL AS quarantined, app
FROM finished
WHERE ($1::text IS NULL OR status = $1)
  AND ($2::text IS NULL OR workflow = $2)
  AND id >= $3 AND id < $4
  AND created_at >= $5 AND created_at <= $6 AND (created_at < $7 OR key < $8)
  AND ($10::text IS NULL OR namespace = $10) AND ($11::text IS NULL OR app = $11)
ORDER BY created_at DESC, key DESC
LIMIT $9
