INSERT INTO heddle_mail (box, body, at)
VALUES ?1
