-- Deletes row by row through the primary key. Given many keys as a plain list, MariaDB scans a small table, whatever index
-- is forced, and a scan would wait for rows that other members have locked.
DELETE heddle_task
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (instance BIGINT PATH '$')) AS gone
  STRAIGHT_JOIN heddle_task FORCE INDEX (PRIMARY)
    ON heddle_task.instance = gone.instance
