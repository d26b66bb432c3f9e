SELECT instance, task, attempt, name, type, status, worker,
  started_at AS "startedAt", ended_at AS "endedAt", retry_count AS "retryCount", error
FROM task
WHERE instance = $1
ORDER BY task, attempt
