-- As list-finished, but walks the rows of one id prefix only.
SELECT key, id, workflow, version, status, generation, created_at AS createdAt, ended_at AS endedAt, reason, NULL AS parked
FROM finished INDEXED BY finished_by_id
WHERE key < ?1
  AND (?2 IS NULL OR status = ?2)
  AND (?3 IS NULL OR workflow = ?3)
  AND id >= ?4 AND id < ?5
  AND created_at >= ?6 AND created_at <= ?7
ORDER BY key DESC
LIMIT ?8
