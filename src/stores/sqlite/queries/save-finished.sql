-- Inserts, and updates on conflict: REPLACE takes two thirds longer with the indexes of this table, also where no row is
-- there yet.
INSERT INTO finished (key, id, workflow, version, status, generation, reason, created_at, ended_at, tasks, tasks_failed,
  namespace, app, history)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
  id = excluded.id, workflow = excluded.workflow, version = excluded.version, status = excluded.status,
  generation = excluded.generation, reason = excluded.reason, created_at = excluded.created_at,
  ended_at = excluded.ended_at, tasks = excluded.tasks, tasks_failed = excluded.tasks_failed,
  namespace = excluded.namespace, app = excluded.app, history = excluded.history
