-- Removes the member together with its mailboxes; returns a row if the member was there.
WITH gone AS (
  DELETE FROM member WHERE id = $1 AND ($2::bigint IS NULL OR heartbeat = $2) RETURNING 1
), emptied AS (
  DELETE FROM mailbox WHERE mailbox IN ($3, $4) AND EXISTS (SELECT 1 FROM gone)
)
SELECT 1 FROM gone
