UPDATE heddle_member SET heartbeat = heartbeat + 1 WHERE id = ?1 AND heartbeat >= ?2
