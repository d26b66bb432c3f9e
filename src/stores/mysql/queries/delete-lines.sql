-- Deletes row by row through the primary key: a scan would wait for rows that other members have locked.
DELETE heddle_log_line
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (number BIGINT PATH '$')) AS gone
  STRAIGHT_JOIN heddle_log_line FORCE INDEX (PRIMARY)
    ON heddle_log_line.number = gone.number
