-- Deletes nothing unless the statement before it removed the member.
DELETE FROM heddle_mailbox WHERE mailbox = ?1 AND @heddle_removed = 1
