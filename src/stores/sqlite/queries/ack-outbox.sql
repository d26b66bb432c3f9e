DELETE FROM outbox WHERE source = ? AND target = ? AND number <= ?
