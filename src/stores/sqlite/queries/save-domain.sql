REPLACE INTO domain (name, size, priority)
VALUES (?, ?, ?)
