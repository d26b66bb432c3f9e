REPLACE INTO task (instance, task, attempt, name, type, status, worker, started_at, ended_at, retry_count, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
