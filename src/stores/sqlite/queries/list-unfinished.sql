SELECT key, id, workflow, version, status, generation, created_at AS createdAt, NULL AS endedAt, NULL AS reason, parked
FROM instance
WHERE key < ?1
  AND (?2 IS NULL OR status = ?2)
  AND (?3 IS NULL OR workflow = ?3)
  AND (?4 IS NULL OR (id >= ?4 AND id < ?5))
  AND created_at >= ?6 AND created_at <= ?7
ORDER BY key DESC
LIMIT ?8
