UPDATE member SET beat = beat + 1 WHERE id = $1
