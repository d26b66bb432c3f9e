DELETE letter
FROM JSON_TABLE(@heddle_passed, '$[*]' COLUMNS (
    target BIGINT PATH '$[0]', source BIGINT PATH '$[1]', number BIGINT PATH '$[2]'
  )) AS passed
  STRAIGHT_JOIN heddle_outbox AS letter FORCE INDEX (PRIMARY)
    ON letter.target = passed.target AND letter.source = passed.source AND letter.number = passed.number
