SELECT instance, task, attempt, name, type, status, worker,
  started_at AS startedAt, ended_at AS endedAt, retry_count AS retryCount, error
FROM task
WHERE instance = ?
ORDER BY task, attempt
