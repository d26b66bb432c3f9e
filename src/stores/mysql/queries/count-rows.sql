SELECT
  (SELECT count(*) FROM heddle_instance) AS unfinished,
  (SELECT count(*) FROM heddle_finished) AS finished,
  (SELECT count(*) FROM heddle_outbox) AS messages,
  (SELECT count(*) FROM heddle_mailbox) AS mails,
  (SELECT count(*) FROM heddle_request) AS requests,
  (SELECT count(*) FROM heddle_definition) AS definitions,
  (SELECT count(*) FROM heddle_job) AS jobs,
  (SELECT count(*) FROM heddle_domain) AS domains,
  (SELECT count(*) FROM heddle_document) AS documents,
  (SELECT count(*) FROM heddle_log_line) AS logLines
