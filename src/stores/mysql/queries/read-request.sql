SELECT shard, `key`, at, refusal FROM heddle_request WHERE shard = ?1 AND `key` = ?2
