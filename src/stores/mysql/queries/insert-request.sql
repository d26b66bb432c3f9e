INSERT INTO heddle_request (shard, `key`, at, refusal)
VALUES ?1
