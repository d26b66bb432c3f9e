SELECT id, address, about, beat
FROM member
ORDER BY id
