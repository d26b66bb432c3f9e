SELECT ref, body FROM heddle_payload WHERE instance = ?1 AND ref IN (?2)
