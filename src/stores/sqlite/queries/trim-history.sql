DELETE FROM history WHERE instance = ? AND turn < ?
