UPDATE member SET beat = beat + 1, about = coalesce(?2, about) WHERE id = ?1
