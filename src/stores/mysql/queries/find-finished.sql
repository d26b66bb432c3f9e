SELECT `key`, id, workflow, version, status, generation, reason,
  created_at AS createdAt, ended_at AS endedAt, tasks, tasks_failed AS tasksFailed, app, history
FROM heddle_finished FORCE INDEX (by_id)
WHERE id_start = LEFT(?1, 200) AND id = ?1
ORDER BY `key` DESC
LIMIT 1
