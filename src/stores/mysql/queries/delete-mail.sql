DELETE FROM heddle_mail WHERE id IN (?1)
