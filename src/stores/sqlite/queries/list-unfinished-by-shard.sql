SELECT key, id, workflow, version, status, generation, wake_at AS wakeAt, active, waiting_tasks AS waitingTasks,
  created_at AS createdAt, updated_at AS updatedAt, quarantined, app, history
FROM instance
WHERE key > ? AND key <= ?
ORDER BY key
LIMIT ?
