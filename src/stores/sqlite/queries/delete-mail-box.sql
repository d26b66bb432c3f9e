DELETE FROM mail WHERE box = ?
