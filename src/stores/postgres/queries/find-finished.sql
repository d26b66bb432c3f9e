SELECT key, id, workflow, version, status, generation, reason,
  created_at AS "createdAt", ended_at AS "endedAt", tasks, tasks_failed AS "tasksFailed", app, history
FROM finished
WHERE id = $1
ORDER BY key DESC
LIMIT 1
