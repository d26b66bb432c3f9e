DELETE FROM heddle_payload WHERE instance IN (?1)
