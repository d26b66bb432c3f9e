SELECT `key`, id, workflow, version, status, generation, wake_at AS wakeAt, active, waiting_tasks AS waitingTasks,
  created_at AS createdAt, updated_at AS updatedAt, quarantined, app, history
FROM heddle_instance
WHERE `key` > ?1 AND `key` <= ?2
ORDER BY `key`
LIMIT ?3
