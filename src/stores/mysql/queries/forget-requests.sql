DELETE FROM heddle_request WHERE ?1
