SELECT floor(extract(epoch FROM clock_timestamp()))::bigint AS seconds
