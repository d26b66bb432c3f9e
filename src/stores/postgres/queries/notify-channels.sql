-- The server sends one notification for each channel, however often it occurs.
SELECT pg_notify(channel, '') FROM unnest($1::text[]) AS channel
