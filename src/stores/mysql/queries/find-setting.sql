SELECT value FROM heddle_setting WHERE name = ?1
