DELETE FROM mailbox WHERE at < $1
