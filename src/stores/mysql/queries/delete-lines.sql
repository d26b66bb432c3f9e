-- One after the other, by its key: a walk would wait for rows of others.
DELETE heddle_log_line
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (number BIGINT PATH '$')) AS gone
  STRAIGHT_JOIN heddle_log_line FORCE INDEX (PRIMARY)
    ON heddle_log_line.number = gone.number
