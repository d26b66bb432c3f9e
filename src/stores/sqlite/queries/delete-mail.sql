DELETE FROM mail WHERE id = ?
