DELETE FROM instance WHERE key = ?
