SELECT id, mailbox, body
FROM mailbox
WHERE mailbox IN (SELECT value FROM json_each(?))
ORDER BY id
LIMIT ?
