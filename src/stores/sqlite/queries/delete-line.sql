DELETE FROM log_line WHERE number = ?
