-- Deletes through the key of each instance: a DELETE of a range of turns also locks the row after it, which another member
-- may just be writing.
DELETE heddle_history
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (instance BIGINT PATH '$[0]', turn BIGINT PATH '$[1]')) AS trimmed
  STRAIGHT_JOIN heddle_history FORCE INDEX (PRIMARY)
    ON heddle_history.instance = trimmed.instance AND heddle_history.turn < trimmed.turn
