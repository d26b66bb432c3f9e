DELETE FROM mailbox WHERE name = ?
