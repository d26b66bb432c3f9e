SELECT key, id, workflow, version, status, generation, wake, active, waiting,
  created_at AS createdAt, updated_at AS updatedAt, quarantined
FROM instance
WHERE key > ? AND key <= ?
ORDER BY key
LIMIT ?
