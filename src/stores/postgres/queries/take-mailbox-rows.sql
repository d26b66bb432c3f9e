DELETE FROM mailbox
WHERE id = ANY (ARRAY(SELECT id FROM mailbox WHERE mailbox = $1 ORDER BY id LIMIT $2))
RETURNING id, mailbox, body
