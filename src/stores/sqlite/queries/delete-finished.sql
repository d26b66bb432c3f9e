DELETE FROM finished WHERE key = ?
