DELETE FROM line WHERE number = ?
