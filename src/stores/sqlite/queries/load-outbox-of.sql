-- The pairs of shards that the source has ever sent to lead to its messages, which are kept by target.
SELECT outbox.source, outbox.target, outbox.number, outbox.body
FROM sent
JOIN outbox ON outbox.target = sent.target AND outbox.source = sent.source
WHERE sent.source = ?
ORDER BY outbox.target, outbox.number
