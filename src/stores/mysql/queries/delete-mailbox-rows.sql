-- Deletes row by row through the primary key. Given many keys as a plain list, MariaDB scans a small table, whatever index
-- is forced, and a scan would wait for rows that other members have locked.
DELETE heddle_mailbox
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (id BIGINT PATH '$')) AS gone
  STRAIGHT_JOIN heddle_mailbox FORCE INDEX (PRIMARY)
    ON heddle_mailbox.id = gone.id
