-- Unfinished instances that a resume concerns.
SELECT key, id, workflow, version, status, generation,
  created_at AS "createdAt", NULL AS "endedAt", NULL AS reason, quarantined, app
FROM instance
WHERE (status = 'Paused' OR quarantined IS NOT NULL)
  AND ($1::text IS NULL OR status = $1)
  AND ($2::text IS NULL OR workflow = $2)
  AND ($3::text IS NULL OR (id >= $3 AND id < $4))
  AND created_at >= $5 AND created_at <= $6 AND (created_at < $7 OR key < $8)
  AND ($10::text IS NULL OR namespace = $10) AND ($11::text IS NULL OR app = $11)
ORDER BY created_at DESC, key DESC
LIMIT $9
