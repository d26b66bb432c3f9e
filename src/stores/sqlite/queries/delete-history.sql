DELETE FROM history WHERE instance = ?
