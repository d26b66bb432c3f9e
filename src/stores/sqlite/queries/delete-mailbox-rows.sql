DELETE FROM mailbox WHERE id = ?
