SELECT body FROM payload WHERE instance = ? AND ref = ?
