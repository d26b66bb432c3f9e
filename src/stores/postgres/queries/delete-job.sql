DELETE FROM job WHERE id = ANY ($1::text[])
