DELETE FROM mail WHERE at < ?
