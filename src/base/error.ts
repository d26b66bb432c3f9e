/**
 * Every error that Heddle throws on purpose, with its meaning in one sentence. `docs/errors.md` explains what to do
 * about each; a test proves that the two lists are the same.
 */
export const errorCodes = {
  WORKFLOW_INVALID: { retryable: false, meaning: "A workflow definition is malformed." },
  WORKFLOW_EMPTY: { retryable: false, meaning: "A workflow has no tasks." },
  WORKFLOW_CYCLE: { retryable: false, meaning: "The dependencies of a workflow's tasks form a cycle." },
  WORKFLOW_UNKNOWN: { retryable: false, meaning: "No workflow of that name is known." },
  WORKFLOW_DUPLICATE: {
    retryable: false,
    meaning: "A workflow of that name, or of that name and version, is there already.",
  },
  WORKFLOW_CHANGED: {
    retryable: false,
    meaning: "The code of a workflow does not take the recorded steps again.",
  },
  WORKFLOW_NOT_DURABLE: {
    retryable: false,
    meaning: "The code of a workflow awaits a promise that is not durable.",
  },
  WORKFLOW_TOO_LONG: { retryable: false, meaning: "A code workflow has taken more steps than allowed." },
  WORKFLOW_CANCELED: { retryable: false, meaning: "A code workflow was canceled." },
  HANDLER_UNKNOWN: { retryable: false, meaning: "The code of a workflow answers no query or update of that name." },
  HANDLER_FAILED: { retryable: false, meaning: "The handler of a query or update threw in the code of a workflow." },
  INPUT_INVALID: { retryable: false, meaning: "A value does not match a schema of a code workflow." },
  TASK_DUPLICATE: { retryable: false, meaning: "Two tasks of one workflow have the same name." },
  TASK_INVALID: { retryable: false, meaning: "A task is incomplete, or one of its settings is out of range." },
  TASK_UNKNOWN: { retryable: false, meaning: "No task of that name is in the workflow." },
  TASK_STATE: { retryable: false, meaning: "The task's status does not allow the operation." },
  COMPLETION_LATE: { retryable: false, meaning: "The task does not wait for that completion any more." },
  COMPLETION_TOKEN_INVALID: {
    retryable: false,
    meaning: "The token of a task that is completed from outside is malformed, or none of this store.",
  },
  DEPENDENCY_UNKNOWN: { retryable: false, meaning: "A task depends on a task that does not exist." },
  DEPENDENCY_SELF: { retryable: false, meaning: "A task depends on itself." },
  PARAMS_INVALID: { retryable: false, meaning: "Parameters do not match the job's input schema." },
  JOB_MISSING: { retryable: false, meaning: "A task names a job that is not registered." },
  JOB_DUPLICATE: { retryable: false, meaning: "A job of that name and signature is already registered." },
  JOB_AMBIGUOUS: {
    retryable: false,
    meaning: "A job name stands for several signatures and the parameters do not choose one.",
  },
  JOB_INVALID: { retryable: false, meaning: "A job's registration is incomplete or out of range." },
  WORKER_UNKNOWN: { retryable: false, meaning: "No worker of that address is connected." },
  WORKER_MESSAGE_INVALID: {
    retryable: false,
    meaning: "A worker, or the member it is connected to, sent a message that the protocol does not allow.",
  },
  VERSION_CHANGED: {
    retryable: false,
    meaning: "A saved workflow has another version than the one that the change is based on.",
  },
  SCHEDULE_INVALID: { retryable: false, meaning: "A schedule's times or settings are invalid." },
  SCHEDULE_UNKNOWN: { retryable: false, meaning: "No schedule of that id is known." },
  DOMAIN_UNKNOWN: { retryable: false, meaning: "No domain of that name is declared." },
  POOL_SIZE_INVALID: { retryable: false, meaning: "A pool size is not a whole number within its limits." },
  QUEUE_FULL: { retryable: true, meaning: "The executor's queue is full." },
  EXECUTOR_SHUT_DOWN: { retryable: false, meaning: "The executor has been shut down." },
  ENGINE_FENCED: {
    retryable: false,
    meaning: "Another engine has taken over the database; this one is fenced for good.",
  },
  ENGINE_STATE: { retryable: false, meaning: "The engine is not started, or is already started or stopped." },
  OPTION_INVALID: { retryable: false, meaning: "A setting or argument is not usable." },
  INSTANCE_EXISTS: { retryable: false, meaning: "An instance of that id exists." },
  INSTANCE_UNKNOWN: { retryable: false, meaning: "No instance of that id is known." },
  INSTANCE_STATE: { retryable: false, meaning: "The instance's status does not allow the operation." },
  INSTANCE_QUARANTINED: { retryable: false, meaning: "The instance is quarantined." },
  CONTEXT_TOO_LARGE: { retryable: false, meaning: "The context would pass its limit of 10,485,760 bytes." },
  OUTPUT_TOO_LARGE: { retryable: false, meaning: "A task's output passes its limit of 10,485,760 bytes." },
  RESULT_TOO_LARGE: {
    retryable: false,
    meaning: "The outputs of an instance pass the limit of 67,108,864 bytes for one result.",
  },
  INPUTS_TOO_LARGE: {
    retryable: false,
    meaning: "The context and the outputs that a task would be given pass the limit of 67,108,864 bytes.",
  },
  VALUE_NOT_SERIALIZABLE: { retryable: false, meaning: "A value cannot be written as JSON." },
  SUBTASK_LIMIT: { retryable: false, meaning: "A task generates more sub-tasks than allowed." },
  SUBTASK_INVALID: { retryable: false, meaning: "A sub-task's name or dependencies do not fit into its instance." },
  DECISION_INVALID: { retryable: false, meaning: "A decision's expression is wrong, or its result takes no edge." },
  MAP_ITEMS_INVALID: { retryable: false, meaning: "The items of a map are no list, or too many." },
  DECISION_TOO_EXPENSIVE: {
    retryable: false,
    meaning: "A decision's expression takes too long, or makes values that are too large.",
  },
  NESTING_TOO_DEEP: { retryable: false, meaning: "Nested workflows contain themselves, or nest too deeply." },
  TASK_TIMEOUT: {
    retryable: true,
    meaning: "An attempt ran longer than its timeout, or an event that code waits for did not come in time.",
  },
  HEARTBEAT_TIMEOUT: {
    retryable: true,
    meaning: "The job of an attempt sent no heartbeat for longer than its heartbeat timeout.",
  },
  PROCESS_EXITED: {
    retryable: true,
    meaning: "The child process of a job ended, or was killed, before the job returned.",
  },
  PROCESS_MEMORY_LIMIT: {
    retryable: true,
    meaning: "The child process of a job used more memory than its limit, and was ended.",
  },
  TASK_STOPPED: { retryable: false, meaning: "A user stopped the task before its end." },
  TASK_LOST: { retryable: false, meaning: "An attempt was lost with its process more often than allowed." },
  WORKFLOW_FAILED: { retryable: false, meaning: "The awaited instance ended in Failed." },
  WORKFLOW_TERMINATED: { retryable: false, meaning: "The awaited instance was terminated." },
  SHARD_MOVED: { retryable: true, meaning: "The instance's shard is moving to another member." },
  CALL_UNANSWERED: {
    retryable: true,
    meaning: "No member, or the store, answered in time; whether the request was carried out is unknown.",
  },
  MEMBER_LOST: {
    retryable: true,
    meaning: "This member was declared dead, and others have taken over its shards.",
  },
  FOLDER_UNRESPONSIVE: { retryable: true, meaning: "The file system of the definitions does not answer." },
  GIT_FAILED: { retryable: false, meaning: "Git is missing, or did not commit a definition." },
  STORE_UNAVAILABLE: { retryable: true, meaning: "The store does not answer, or the outcome of a write is unknown." },
  STORE_FENCED: { retryable: true, meaning: "Another owner has taken over the shard." },
  STORE_DATA: { retryable: false, meaning: "The store refuses the data itself." },
  STORE_LOCKED: { retryable: true, meaning: "Another process holds the database file." },
  STORE_READ_ONLY: { retryable: false, meaning: "The database file or its folder cannot be written." },
  STORE_FULL: { retryable: true, meaning: "There is no space left for the database." },
  STORE_CORRUPT: {
    retryable: false,
    meaning: "The database file is damaged or is not a database, or its tables are not those of its schema version.",
  },
  STORE_DENIED: {
    retryable: false,
    meaning: "The database server refuses this user, or has not granted a privilege.",
  },
  STORE_UNSUITABLE: {
    retryable: false,
    meaning: "The database server is too old, or set up in a way that loses data.",
  },
  STORE_GONE: {
    retryable: false,
    meaning: "The database file was deleted, moved or replaced while the engine had it open.",
  },
  STORE_ROLLED_BACK: {
    retryable: false,
    meaning: "The store went back to an earlier state while the engine used it.",
  },
  STORE_NEWER: { retryable: false, meaning: "The database was written by a newer version of Heddle." },
  STORE_OLDER: { retryable: false, meaning: "The database has a layout that this version of Heddle no longer reads." },
} as const satisfies Record<string, { retryable: boolean; meaning: string }>;

/** The codes of errors; docs/errors.md says what each means and what to do. */
export type ErrorCode = keyof typeof errorCodes;

/** An error of the engine. Test its `code` with `hasCode`; docs/errors.md lists the codes. */
export class EngineError extends Error {
  override readonly name: string = "EngineError";
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.retryable = errorCodes[code].retryable;
  }
}

/** Asks for the code, not for the class: two copies of a library in one process have two classes. */
export function hasCode(error: unknown, code: ErrorCode): error is EngineError {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Message of an error, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
