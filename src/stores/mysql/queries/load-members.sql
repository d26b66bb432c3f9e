SELECT id, address, beat
FROM heddle_member
ORDER BY id
