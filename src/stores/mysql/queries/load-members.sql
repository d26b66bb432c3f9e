SELECT id, address, about, beat
FROM heddle_member
ORDER BY id
