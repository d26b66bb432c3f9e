-- If the statement before it removed the member.
DELETE FROM heddle_mail WHERE box = ?1 AND @heddle_removed = 1
