SELECT id, box, body
FROM heddle_mail FORCE INDEX (by_box)
WHERE box IN (?1)
ORDER BY id
LIMIT ?2
