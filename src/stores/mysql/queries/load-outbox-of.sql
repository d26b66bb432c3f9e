-- The pairs of shards that the source has ever sent to lead to its messages, which are kept by target.
SELECT message.source, message.target, message.number, message.body
FROM heddle_sent AS pair
JOIN heddle_outbox AS message ON message.target = pair.target AND message.source = pair.source
WHERE pair.source = ?1
ORDER BY message.target, message.number
