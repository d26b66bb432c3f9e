SELECT name, size, priority
FROM heddle_domain
ORDER BY name
