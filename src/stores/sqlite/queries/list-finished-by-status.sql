-- As list-finished, but walks the rows of one status only.
SELECT key, id, workflow, version, status, generation, created_at AS createdAt, ended_at AS endedAt, reason, NULL AS parked
FROM finished INDEXED BY finished_by_status
WHERE key < ?1
  AND status = ?2
  AND (?3 IS NULL OR workflow = ?3)
  AND (?4 IS NULL OR (id >= ?4 AND id < ?5))
  AND created_at >= ?6 AND created_at <= ?7
ORDER BY key DESC
LIMIT ?8
