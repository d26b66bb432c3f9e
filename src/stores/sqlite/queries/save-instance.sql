REPLACE INTO instance (key, id, workflow, version, status, generation, wake, active, waiting, created_at, updated_at,
  quarantined)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
