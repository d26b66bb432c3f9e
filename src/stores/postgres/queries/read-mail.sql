-- Box by box, each from its oldest and no further than the limit.
SELECT mail.id, mail.box, mail.body
FROM (SELECT DISTINCT unnest($1::text[]) AS box) AS asked
CROSS JOIN LATERAL (
  SELECT id, box, body FROM mail WHERE mail.box = asked.box ORDER BY id LIMIT $2
) AS mail
ORDER BY mail.id
LIMIT $2
