INSERT INTO heddle_task (instance, task, attempt, name, type, status, worker, started_at, ended_at, retry_count, error)
VALUES ?1
ON DUPLICATE KEY UPDATE
  name = VALUES(name), type = VALUES(type), status = VALUES(status), worker = VALUES(worker),
  started_at = VALUES(started_at), ended_at = VALUES(ended_at), retry_count = VALUES(retry_count),
  error = VALUES(error)
