REPLACE INTO mark (shard, source, number)
VALUES (?, ?, ?)
