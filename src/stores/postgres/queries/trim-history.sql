DELETE FROM history
USING unnest($1::bigint[], $2::bigint[]) AS trimmed (instance, turn)
WHERE history.instance = trimmed.instance AND history.turn < trimmed.turn
