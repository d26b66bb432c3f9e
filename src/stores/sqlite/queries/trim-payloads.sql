DELETE FROM payload WHERE instance = ? AND ref < ?
