DELETE FROM mailbox WHERE at < ?
