INSERT INTO heddle_sent (source, target, number)
VALUES ?1
ON DUPLICATE KEY UPDATE
  number = VALUES(number)
