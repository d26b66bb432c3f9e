INSERT INTO mail (box, body, at)
VALUES ($1, $2, $3)
