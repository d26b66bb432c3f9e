REPLACE INTO finished (key, id, workflow, version, status, generation, reason, created_at, ended_at, tasks, tasks_failed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
