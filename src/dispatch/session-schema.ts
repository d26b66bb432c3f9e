import { EngineError } from "../base/error.ts";
import { isTooDeep } from "../base/json-depth.ts";
import { preview } from "../base/preview.ts";
import { durationMsMax } from "../base/time-limits.ts";
import { utf8Length } from "../base/utf8.ts";
import { checkSpec } from "../kernel/dag/check.ts";
import type { LastHeartbeat } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import { subTasksCeiling } from "../kernel/machine.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import {
  type Fields,
  integer,
  jsonText,
  list,
  literal,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Schema,
  taggedUnion,
  text,
  textLike,
} from "./schema.ts";
import type { AttemptQuestion, ItemsHandedIn, QuestionFailure } from "./attempt-question.ts";
import type { JobHeartbeat } from "./attempt-report.ts";
import type { GrantFence } from "./grant-fence.ts";
import type {
  AbortOrder,
  Acknowledged,
  FinishedAttempt,
  History,
  HistoryAsked,
  TurnAnswered,
  TurnAsked,
  TurnWithdrawn,
  WorkflowDetails,
  Goodbye,
  Grant,
  GrantKey,
  Heartbeat,
  RenewalAge,
  Hello,
  JobDetails,
  Leaving,
  Logged,
  LoggedLine,
  MemberMessage,
  GrantRefusal,
  Result,
  RunningAttempt,
  LeaseRenewal,
  QuestionAnswered,
  QuestionAsked,
  Renewed,
  Reported,
  ReportOfAttempt,
  Welcome,
  WorkerMessage,
} from "./session-message.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { TaskInputs, TaskItem } from "./task-run.ts";
import type { HistoryPage } from "../kernel/code/turn-question.ts";
import { turnAnswer, turnEvents, turnQuestion } from "./turn-schema.ts";
import { failure } from "./value-schemas.ts";
import { tagPattern, tagsMax, tagWords } from "./worker-tags.ts";

/** The maximum of questions about code that one worker takes. */
export const turnsMax = 10_000;
/** The maximum of slots of one worker. */
export const slotsMax = 10_000;
/** The maximum length of one log line of a job. */
export const logMessageLengthMax = 65_536;
/** The maximum length of the message of a progress report. */
export const progressMessageLengthMax = 1000;
/** The maximum of the details of a heartbeat: they are kept in memory while the job runs, and in the history if it fails. */
export const heartbeatBytesMax = 4096;
/** The maximum message of the server's WebSockets, less the frame overhead. */
export const messageLengthMax = 16 * 1024 * 1024 - 1024;

/** The maximum of an outcome, which leaves room for the names around it. */
const outcomeMessageBytesMax = messageLengthMax - 1024 * 1024;
/** The maximum of UTF-8 bytes per character; an escaped character is ASCII and takes two. */
const bytesPerCharacterMax = 3;
const attemptsMax = 2 * slotsMax;
const timeMax = 8.64e15;

/** Ids and names that the engine made, or its users. Ids of nested instances grow with the names of the tasks above. */
const name = text({ max: 65_536 });
/** A worker's address is `member/token/worker`: its last part has no slash. */
const workerId = textLike(/^[^/\p{C}]{1,200}$/u, "text of 1 to 200 characters without slashes and control characters");
const tag = textLike(tagPattern, tagWords);
const count = integer({ min: 0 });
const time = number({ min: -timeMax, max: timeMax });
const payload = jsonText({ bytesMax: payloadBytesMax });
const durationMs = number({ min: 1, max: timeMax });
const anything: Schema = () => undefined;

const descriptor = object<AttemptDescriptor>({
  attemptId: name,
  instanceId: name,
  workflowName: name,
  taskName: name,
  task: count,
  attempt: count,
  generation: count,
  job: name,
  domain: name,
  traceparent: optional(text({ max: 1000 })),
  timeoutMs: optional(number({ min: 0, max: 1e13 })),
  heartbeatTimeoutMs: optional(number({ min: 0, max: 1e13 })),
  startedAt: time,
});

/** Counts the list before it validates any sub-task. The engine checks whether they fit into their instance. */
const subTasks: Schema = (value) => {
  const problem = list(anything, { max: subTasksCeiling })(value);
  if (problem !== undefined) return problem;
  try {
    checkSpec({ nodes: value as [] });
    return undefined;
  } catch (error) {
    if (error instanceof EngineError) return `: ${error.message}`;
    throw error;
  }
};

const heartbeatDetails = jsonText({ bytesMax: heartbeatBytesMax });
const lastHeartbeat: Fields<LastHeartbeat> = { heartbeat: optional(heartbeatDetails) };

const outcome = taggedUnion("kind", {
  success: object<Extract<Outcome, { kind: "success" }>>({
    kind: anything,
    output: optional(payload),
    patch: optional(record(nullable(payload), { max: 100_000 })),
    subTasks: optional(subTasks),
  }),
  failure: object<Extract<Outcome, { kind: "failure" }>>({ kind: anything, failure: failure(0), ...lastHeartbeat }),
  timeout: object<Extract<Outcome, { kind: "timeout" }>>({ kind: anything, failure: failure(0), ...lastHeartbeat }),
  awaits: object<Extract<Outcome, { kind: "awaits" }>>({
    kind: anything,
    timeoutMs: optional(number({ min: 0, max: durationMsMax })),
  }),
  lost: object<Extract<Outcome, { kind: "lost" }>>({ kind: anything, ...lastHeartbeat }),
});

const keyFields: Fields<GrantKey> = { attemptId: name, grant: count };
const keys = list(object<GrantKey>(keyFields), { max: attemptsMax });
const running: Fields<RunningAttempt> = { grant: count, descriptor };

const loggedLine = object<LoggedLine>({
  attemptId: name,
  at: time,
  level: oneOf("debug", "info", "warn", "error"),
  message: text({ max: logMessageLengthMax }),
  fields: record(anything, { max: 10_000 }),
});

const progress = object<TaskProgress>({
  fraction: number({ min: 0, max: 1 }),
  done: optional(number({ min: 0, max: Number.MAX_VALUE })),
  total: optional(number({ min: 0, max: Number.MAX_VALUE })),
  message: optional(text({ max: progressMessageLengthMax })),
});

const reportOfAttempt = object<ReportOfAttempt>({
  attemptId: name,
  progress: optional(progress),
  heartbeat: optional(object<JobHeartbeat>({ details: optional(heartbeatDetails) })),
});

const attemptQuestion = taggedUnion("type", {
  ListResults: object<Extract<AttemptQuestion, { type: "ListResults" }>>({ type: anything, from: count }),
  AddItems: object<ItemsHandedIn>({ type: anything, call: count, from: count, items: payload }),
} satisfies Record<AttemptQuestion["type"], Schema>);

/** The id is the name of a document, which has at most 700 characters. */
const jobDetails = object<JobDetails>({
  id: textLike(/^[^@\p{C}]{1,500}@[\w-]{1,100}$/u, "name@signature, of at most 500 and 100 characters"),
  parameters: jsonText({ bytesMax: 65_536 }),
  description: optional(text({ max: 10_000 })),
  sourceHash: optional(text({ max: 200 })),
});

/** The name is part of the name of a document, which has at most 700 characters. */
const workflowDetails = object<WorkflowDetails>({
  name: textLike(/^[^@\p{C}][^\p{C}]{0,399}$/u, "text of 1 to 400 characters that does not begin with @"),
  version: textLike(/^[^\p{C}]{1,200}$/u, "text of 1 to 200 characters"),
  input: optional(jsonText({ bytesMax: 65_536 })),
  timeoutSeconds: optional(number({ min: 0, max: timeMax })),
  maxConcurrentActivities: optional(count),
  maxInstances: optional(
    object<NonNullable<WorkflowDetails["maxInstances"]>>({
      max: integer({ min: 1 }),
      policy: optional(oneOf("queue", "skip", "fail")),
    }),
  ),
});

const workerMessage = taggedUnion("type", {
  Hello: object<Hello>({
    type: anything,
    worker: workerId,
    sequence: integer({ min: 1 }),
    lastGrant: count,
    jobs: list(text({ min: 1, max: 10_000 }), { max: 10_000 }),
    jobDetails: optional(list(jobDetails, { max: 10_000 })),
    workflows: optional(list(workflowDetails, { max: 10_000 })),
    turns: optional(integer({ min: 0, max: turnsMax })),
    slots: integer({ min: 0, max: slotsMax }),
    tags: optional(list(tag, { max: tagsMax })),
    lastWelcome: optional(name),
    running: list(object<RunningAttempt>(running), { max: attemptsMax }),
    results: list(object<FinishedAttempt>({ ...running, outcome }), { max: attemptsMax }),
  }),
  Heartbeat: object<Heartbeat>({
    type: anything,
    sequence: integer({ min: 1 }),
    lastGrant: count,
    running: keys,
    finished: keys,
    turns: optional(list(count, { max: turnsMax })),
  }),
  TurnAnswered: object<TurnAnswered>({
    type: anything,
    turn: count,
    generation: count,
    events: count,
    steps: count,
    answer: turnAnswer,
  }),
  HistoryAsked: object<HistoryAsked>({ type: anything, turn: count, from: count }),
  QuestionAsked: object<QuestionAsked>({ type: anything, question: count, attemptId: name, body: attemptQuestion }),
  Result: object<Result>({ type: anything, ...keyFields, outcome, startedAt: time }),
  Refused: object<GrantRefusal>({ type: anything, ...keyFields, why: text({ max: 10_000 }) }),
  Leaving: object<Leaving>({ type: anything }),
  Logged: object<Logged>({ type: anything, lines: list(loggedLine, { max: 1000 }) }),
  Reported: object<Reported>({ type: anything, reports: list(reportOfAttempt, { max: attemptsMax }) }),
} satisfies Record<WorkerMessage["type"], Schema>);

const texts = record(text({ max: Infinity }), { max: Infinity });

const renewalFields: Fields<LeaseRenewal> = {
  sequence: count,
  unwanted: keys,
  undecided: keys,
  renewalAges: list(object<RenewalAge>({ ...keyFields, ageMs: number({ min: 0, max: timeMax }) }), {
    max: attemptsMax,
  }),
};

const memberMessage = taggedUnion("type", {
  Welcome: object<Welcome>({ type: anything, ...renewalFields, welcome: name, beatMs: durationMs, lostMs: durationMs }),
  Renewed: object<Renewed>({ type: anything, ...renewalFields }),
  Grant: object<Grant>({
    type: anything,
    grant: integer({ min: 1 }),
    descriptor,
    params: text({ max: Infinity }),
    inputs: object<TaskInputs>({
      context: texts,
      outputs: texts,
      item: optional(object<TaskItem>({ index: count, value: payload })),
      heartbeat: optional(heartbeatDetails),
    }),
    completionToken: optional(text({ max: Infinity })),
    fence: optional(object<GrantFence>({ incarnation: count, shard: count, epoch: count })),
  }),
  Abort: object<AbortOrder>({
    type: literal("Abort"),
    ...keyFields,
    reason: object<AbortOrder["reason"]>({ name: text({ max: Infinity }), message: text({ max: Infinity }) }),
  }),
  Acknowledged: object<Acknowledged>({ type: anything, ...keyFields }),
  Goodbye: object<Goodbye>({ type: anything }),
  TurnAsked: object<TurnAsked>({ type: anything, turn: count, question: turnQuestion }),
  TurnWithdrawn: object<TurnWithdrawn>({ type: anything, turn: count }),
  History: object<History>({
    type: anything,
    turn: count,
    from: count,
    page: object<HistoryPage>({ turns: turnEvents, next: count }),
  }),
  QuestionAnswered: object<QuestionAnswered>({
    type: anything,
    question: count,
    answer: anything,
    failure: optional(
      object<QuestionFailure>({ code: optional(text({ max: 200 })), message: text({ max: Infinity }) }),
    ),
  }),
} satisfies Record<MemberMessage["type"], Schema>);

/** `WORKER_MESSAGE_INVALID` says which part of the message does not fit. */
export function parseWorkerMessage(given: string): WorkerMessage {
  if (given.length > messageLengthMax) throw invalid(`it has ${given.length} characters`);
  return parse(given, workerMessage) as WorkerMessage;
}

/** `WORKER_MESSAGE_INVALID` says which part of the message does not fit. */
export function parseMemberMessage(given: string): MemberMessage {
  return parse(given, memberMessage) as MemberMessage;
}

/** Returns why a member would refuse this outcome; undefined if it would not. */
export function findOutcomeProblem(given: Outcome): string | undefined {
  const problem = outcome(given);
  if (problem !== undefined) return `outcome${problem}`;
  if (outcomeBytesMax(given) < outcomeMessageBytesMax) return undefined;
  const bytes = utf8Length(JSON.stringify(given));
  if (bytes <= outcomeMessageBytesMax) return undefined;
  return `outcome takes ${bytes} bytes in a message, more than the ${outcomeMessageBytesMax} allowed`;
}

/** An upper bound of what an outcome adds to a message, in bytes. Texts inside are escaped, and encoded as UTF-8. */
export function outcomeBytesMax(given: Outcome): number {
  if (given.kind !== "success") return 0;
  const { output = "", patch = {} } = given;
  let length = typeof output === "string" ? output.length : 0;
  for (const text of Object.values(patch)) length += typeof text === "string" ? text.length : 0;
  return bytesPerCharacterMax * length;
}

function parse(given: string, schema: Schema): unknown {
  if (isTooDeep(given)) throw invalid("it is nested too deeply");
  let message: unknown;
  try {
    message = JSON.parse(given);
  } catch {
    throw invalid(`it is not JSON: ${preview(given)}`);
  }
  const problem = schema(message);
  if (problem !== undefined) throw invalid(`${nameOf(message)}${problem}`);
  return message;
}

/** The message's type, as the start of the path to the invalid part. */
function nameOf(message: unknown): string {
  const isNamed = typeof message === "object" && message !== null && "type" in message;
  return isNamed && typeof message.type === "string" ? message.type.slice(0, 20) : "message";
}

function invalid(problem: string): EngineError {
  return new EngineError("WORKER_MESSAGE_INVALID", `the message is refused: ${problem}`);
}
