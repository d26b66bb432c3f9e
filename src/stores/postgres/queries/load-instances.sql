SELECT key, id, workflow, version, status, generation, wake_at AS wake, active, waiting_tasks AS waiting,
  created_at AS "createdAt", updated_at AS "updatedAt", quarantined
FROM instance
WHERE key > $1 AND key <= $2
ORDER BY key
LIMIT $3
