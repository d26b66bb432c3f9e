REPLACE INTO instance (key, id, workflow, version, status, generation, wake_at, active, waiting_tasks,
  created_at, updated_at, quarantined)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
