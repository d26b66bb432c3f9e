-- Scans like list-finished-by-status, but only the rows of one workflow.
SELECT key, id, workflow, version, status, generation, created_at AS createdAt, ended_at AS endedAt, reason, NULL AS quarantined, app
FROM finished INDEXED BY finished_by_workflow
WHERE status = ?1
  AND workflow = ?2
  AND (?3 IS NULL OR (id >= ?3 AND id < ?4))
  AND created_at >= ?5 AND created_at <= ?6 AND (created_at < ?7 OR key < ?8)
  AND (?10 IS NULL OR namespace = ?10) AND (?11 IS NULL OR app = ?11)
ORDER BY created_at DESC, key DESC
LIMIT ?9
