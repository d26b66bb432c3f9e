SELECT clock_seconds() AS seconds
