DELETE FROM heddle_job WHERE id IN (?1)
