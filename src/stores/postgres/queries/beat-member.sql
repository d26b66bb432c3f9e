UPDATE member SET beat = beat + 1, about = coalesce($2::text, about) WHERE id = $1
