-- By the key of each instance alone: a DELETE of a range of turns takes locks also on the row that comes next, which may
-- be one that another member is just writing.
DELETE heddle_history
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (instance BIGINT PATH '$[0]', turn BIGINT PATH '$[1]')) AS trimmed
  STRAIGHT_JOIN heddle_history FORCE INDEX (PRIMARY)
    ON heddle_history.instance = trimmed.instance AND heddle_history.turn < trimmed.turn
