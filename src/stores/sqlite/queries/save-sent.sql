REPLACE INTO sent (source, target, number)
VALUES (?, ?, ?)
