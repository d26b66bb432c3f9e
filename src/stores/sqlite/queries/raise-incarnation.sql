-- Changes nothing if another has raised it meanwhile.
UPDATE setting
SET value = ?1
WHERE name = 'incarnation' AND value = ?2
