-- One after the other, by its key. Given many of them as a plain list, MariaDB walks a small table, whatever is forced;
-- and a walk would wait for rows of others.
DELETE heddle_payload
FROM JSON_TABLE('[?1]', '$[*]' COLUMNS (instance BIGINT PATH '$')) AS gone
  STRAIGHT_JOIN heddle_payload FORCE INDEX (PRIMARY)
    ON heddle_payload.instance = gone.instance
