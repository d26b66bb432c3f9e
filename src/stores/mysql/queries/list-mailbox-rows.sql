SELECT id, mailbox, body
FROM heddle_mailbox FORCE INDEX (by_mailbox)
WHERE mailbox IN (?1)
ORDER BY id
LIMIT ?2
