DELETE FROM heddle_finished WHERE `key` IN (?1)
