-- Scans from the newest of one status down until the page is full. The scan begins at $6, which is no later than $7. With
-- the last condition written as (created_at, key) < ($7, $8), it would begin at $7 instead.
SELECT key, id, workflow, version, status, generation,
  created_at AS "createdAt", ended_at AS "endedAt", reason, NULL AS quarantined, app
FROM finished
WHERE status = $1
  AND ($2::text IS NULL OR workflow = $2)
  AND ($3::text IS NULL OR (id >= $3 AND id < $4))
  AND created_at >= $5 AND created_at <= $6 AND (created_at < $7 OR key < $8)
  AND ($10::text IS NULL OR namespace = $10) AND ($11::text IS NULL OR app = $11)
ORDER BY created_at DESC, key DESC
LIMIT $9
