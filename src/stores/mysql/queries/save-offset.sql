INSERT INTO heddle_inbound_offset (shard, source, number)
VALUES ?1
ON DUPLICATE KEY UPDATE
  number = VALUES(number)
