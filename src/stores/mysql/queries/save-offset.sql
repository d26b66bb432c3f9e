INSERT INTO heddle_mark (shard, source, number)
VALUES ?1
ON DUPLICATE KEY UPDATE
  number = VALUES(number)
