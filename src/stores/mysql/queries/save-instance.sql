INSERT INTO heddle_instance (`key`, id, workflow, version, status, generation, wake, active, waiting, created_at, updated_at,
  quarantined)
VALUES ?1
ON DUPLICATE KEY UPDATE
  id = VALUES(id), workflow = VALUES(workflow), version = VALUES(version), status = VALUES(status),
  generation = VALUES(generation), wake = VALUES(wake), active = VALUES(active), waiting = VALUES(waiting),
  created_at = VALUES(created_at), updated_at = VALUES(updated_at), quarantined = VALUES(quarantined)
