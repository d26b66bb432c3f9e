UPDATE member SET heartbeat = heartbeat + 1, about = coalesce(?2, about) WHERE id = ?1
