DELETE FROM mailbox WHERE mailbox = ?
