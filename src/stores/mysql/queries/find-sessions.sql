SELECT CONCAT_WS(',', ?1) AS ids
FROM heddle_member
WHERE id = ?2 AND heartbeat = ?3
