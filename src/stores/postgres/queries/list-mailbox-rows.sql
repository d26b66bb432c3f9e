-- Reads mailbox by mailbox, each from its oldest row and no further than the limit.
SELECT message.id, message.mailbox, message.body
FROM (SELECT DISTINCT unnest($1::text[]) AS mailbox) AS asked
CROSS JOIN LATERAL (
  SELECT id, mailbox, body FROM mailbox WHERE mailbox.mailbox = asked.mailbox ORDER BY id LIMIT $2
) AS message
ORDER BY message.id
LIMIT $2
