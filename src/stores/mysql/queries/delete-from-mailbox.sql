-- One after the other, by its key. Given many of them as a plain list, MariaDB walks a small table, whatever is forced;
-- and a walk would wait for rows of others.
DELETE heddle_mailbox
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (id BIGINT PATH '$')) AS gone
  STRAIGHT_JOIN heddle_mailbox FORCE INDEX (PRIMARY)
    ON heddle_mailbox.id = gone.id
