DELETE FROM task WHERE instance = ?
