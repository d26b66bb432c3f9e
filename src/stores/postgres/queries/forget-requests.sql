DELETE FROM request
USING unnest($1::bigint[], $2::bigint[]) AS forgotten (shard, before)
WHERE request.shard = forgotten.shard AND request.at < forgotten.before
