DELETE FROM heddle_mailbox WHERE at < ?1
