-- Inserts, and updates on conflict: REPLACE would delete and insert, and costs more also where no row is there yet.
INSERT INTO instance (key, id, workflow, version, status, generation, wake_at, active, waiting_tasks,
  created_at, updated_at, quarantined, namespace, app, history)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
  id = excluded.id, workflow = excluded.workflow, version = excluded.version, status = excluded.status,
  generation = excluded.generation, wake_at = excluded.wake_at, active = excluded.active,
  waiting_tasks = excluded.waiting_tasks, created_at = excluded.created_at, updated_at = excluded.updated_at,
  quarantined = excluded.quarantined, namespace = excluded.namespace, app = excluded.app, history = excluded.history
