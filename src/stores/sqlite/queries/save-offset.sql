REPLACE INTO inbound_offset (shard, source, number)
VALUES (?, ?, ?)
