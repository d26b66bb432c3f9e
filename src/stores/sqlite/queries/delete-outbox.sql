DELETE FROM outbox WHERE target = ? AND source = ? AND number <= ?
