INSERT INTO payload (instance, ref, body)
VALUES (?, ?, ?)
