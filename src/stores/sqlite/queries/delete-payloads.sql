DELETE FROM payload WHERE instance = ?
