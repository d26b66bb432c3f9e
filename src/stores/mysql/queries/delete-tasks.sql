DELETE FROM heddle_task WHERE instance IN (?1)
