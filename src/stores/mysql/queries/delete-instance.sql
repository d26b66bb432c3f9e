DELETE FROM heddle_instance WHERE `key` IN (?1)
