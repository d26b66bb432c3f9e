INSERT INTO heddle_finished (`key`, id, workflow, version, status, generation, reason, created_at, ended_at, tasks, tasks_failed,
  namespace, app, history)
VALUES ?1
ON DUPLICATE KEY UPDATE
  id = VALUES(id), workflow = VALUES(workflow), version = VALUES(version), status = VALUES(status),
  generation = VALUES(generation), reason = VALUES(reason), created_at = VALUES(created_at),
  ended_at = VALUES(ended_at), tasks = VALUES(tasks), tasks_failed = VALUES(tasks_failed),
  namespace = VALUES(namespace), app = VALUES(app), history = VALUES(history)
