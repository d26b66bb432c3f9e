-- Uses the primary key also for a small table: a scan would wait for rows that other members have locked.
DELETE heddle_job FROM heddle_job FORCE INDEX (PRIMARY) WHERE id IN (?1)
