INSERT INTO heddle_payload (instance, ref, body)
VALUES ?1
