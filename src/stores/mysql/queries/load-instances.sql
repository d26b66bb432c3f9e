SELECT `key`, id, workflow, version, status, generation, wake, active, waiting,
  created_at AS createdAt, updated_at AS updatedAt, quarantined
FROM heddle_instance
WHERE `key` > ?1 AND `key` <= ?2
ORDER BY `key`
LIMIT ?3
