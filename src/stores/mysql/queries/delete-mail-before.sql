DELETE FROM heddle_mail WHERE at < ?1
