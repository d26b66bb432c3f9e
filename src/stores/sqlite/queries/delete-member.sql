DELETE FROM member WHERE id = ?1 AND (?2 IS NULL OR heartbeat = ?2)
