DELETE FROM heddle_history WHERE instance IN (?1)
