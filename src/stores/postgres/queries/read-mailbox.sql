-- Reads mailbox by mailbox, each from its oldest row and no further than the limit.
SELECT message.id, message.name AS box, message.body
FROM (SELECT DISTINCT unnest($1::text[]) AS name) AS asked
CROSS JOIN LATERAL (
  SELECT id, name, body FROM mailbox WHERE mailbox.name = asked.name ORDER BY id LIMIT $2
) AS message
ORDER BY message.id
LIMIT $2
