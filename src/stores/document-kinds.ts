/** Kind of the document of a catalogue workflow; its name is that of the workflow's definitions. */
export const workflowDocument = "workflow";

/** Kind of the document of an API token. */
export const tokenDocument = "token";

/** Kind of the document of a job that workers have announced; its name is the qualified id of the job. */
export const announcedDocument = "announced";

/** Kind of the document of a worker that an engine alone has granted attempts of named domains; its name is the worker's id. */
export const workerDocument = "worker";

/** Kind of the document with the secret of the tokens by which tasks are completed from outside. */
export const completionDocument = "completion";

/** Kind of the document of a code workflow that workers have announced; its name is the qualified name, `@` and the version. */
export const announcedWorkflowDocument = "announced-workflow";

/** Kinds of documents that an export contains. The others are short-lived: locks, idempotency keys, states of alerts, workers. */
export const movingDocuments: readonly string[] = [
  workflowDocument,
  tokenDocument,
  announcedDocument,
  completionDocument,
  announcedWorkflowDocument,
];
