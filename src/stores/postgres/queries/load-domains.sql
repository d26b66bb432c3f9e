SELECT name, size, priority
FROM domain
ORDER BY name
