DELETE message
FROM JSON_TABLE(@heddle_passed, '$[*]' COLUMNS (
    target BIGINT PATH '$[0]', source BIGINT PATH '$[1]', number BIGINT PATH '$[2]'
  )) AS passed
  STRAIGHT_JOIN heddle_outbox AS message FORCE INDEX (PRIMARY)
    ON message.target = passed.target AND message.source = passed.source AND message.number = passed.number
