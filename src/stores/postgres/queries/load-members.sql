SELECT id, address, beat
FROM member
ORDER BY id
