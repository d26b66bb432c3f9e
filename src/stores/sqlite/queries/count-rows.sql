SELECT
  (SELECT count(*) FROM instance) AS unfinished,
  (SELECT count(*) FROM finished) AS finished,
  (SELECT count(*) FROM outbox) AS messages,
  (SELECT count(*) FROM mailbox) AS mails,
  (SELECT count(*) FROM request) AS requests,
  (SELECT count(*) FROM definition) AS definitions,
  (SELECT count(*) FROM job) AS jobs,
  (SELECT count(*) FROM domain) AS domains,
  (SELECT count(*) FROM document) AS documents,
  (SELECT count(*) FROM log_line) AS logLines
