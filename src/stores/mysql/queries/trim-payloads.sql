-- Deletes through the key of each instance, as in trim-history.sql.
DELETE heddle_payload
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (instance BIGINT PATH '$[0]', ref BIGINT PATH '$[2]')) AS trimmed
  STRAIGHT_JOIN heddle_payload FORCE INDEX (PRIMARY)
    ON heddle_payload.instance = trimmed.instance AND heddle_payload.ref < trimmed.ref
