INSERT INTO heddle_instance (`key`, id, workflow, version, status, generation, wake_at, active, waiting_tasks,
  created_at, updated_at, quarantined, namespace, app, history)
VALUES ?1
ON DUPLICATE KEY UPDATE
  id = VALUES(id), workflow = VALUES(workflow), version = VALUES(version), status = VALUES(status),
  generation = VALUES(generation), wake_at = VALUES(wake_at), active = VALUES(active),
  waiting_tasks = VALUES(waiting_tasks), created_at = VALUES(created_at), updated_at = VALUES(updated_at),
  quarantined = VALUES(quarantined), namespace = VALUES(namespace), app = VALUES(app), history = VALUES(history)
