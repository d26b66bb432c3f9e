DELETE FROM mailbox WHERE id = ANY ($1::bigint[])
