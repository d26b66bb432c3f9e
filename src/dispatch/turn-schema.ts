import type { LastStep, Step } from "../kernel/code/step.ts";
import type {
  QueryReply,
  TurnAnswer,
  TurnError,
  TurnEvents,
  TurnFailure,
  TurnQuery,
  TurnQuestion,
  TurnSteps,
  TurnUpdate,
} from "../kernel/code/turn-question.ts";
import { errorCodes } from "../base/error.ts";
import type { KeptEvent, KeptUpdate } from "../kernel/event.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { RetryPolicy } from "../kernel/retry.ts";
import {
  boolean,
  integer,
  jsonText,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  taggedUnion,
  text,
} from "./schema.ts";
import { failure } from "./value-schemas.ts";

// The forms of questions about code and of their answers. Names and numbers in the steps are checked by the kernel.

const anything: Schema = () => undefined;
const name = text({ max: 65_536 });
const count = integer({ min: 0 });
const payload = jsonText({ bytesMax: payloadBytesMax });
const names = list(name, { max: 1000 });
const stepsInAnswerMax = 100_000;

const retryPolicy = object<RetryPolicy>({
  initialMs: optional(number({ min: 0, max: 1e13 })),
  factor: optional(number({ min: 0, max: 1e6 })),
  maxMs: optional(number({ min: 0, max: 1e13 })),
  jitter: optional(number({ min: 0, max: 1 })),
  nonRetryable: optional(names),
  retryOn: optional(names),
});

/** The fields of a node that a step of code has. */
type CodeNode = Pick<
  NodeSpec,
  | "nodeId"
  | "nodeType"
  | "nodeName"
  | "jobName"
  | "nodeParams"
  | "timeoutSeconds"
  | "heartbeatTimeoutSeconds"
  | "retryCount"
  | "retryPolicy"
  | "domain"
  | "workerTags"
  | "worker"
  | "workflowName"
  | "workflowVersion"
  | "whenParentEnds"
>;

const node = object<CodeNode>({
  nodeId: count,
  nodeType: optional(integer({ min: 1, max: 3 })),
  nodeName: optional(name),
  jobName: optional(name),
  nodeParams: optional(payload),
  timeoutSeconds: optional(number({ min: 0, max: 1e10 })),
  heartbeatTimeoutSeconds: optional(number({ min: 0, max: 1e10 })),
  retryCount: optional(count),
  retryPolicy: optional(retryPolicy),
  domain: optional(name),
  workerTags: optional(names),
  worker: optional(name),
  workflowName: optional(name),
  workflowVersion: optional(name),
  whenParentEnds: optional(oneOf("terminate", "cancel", "leave")),
});

type Of<T extends Step["type"]> = Extract<Step, { type: T }>;

const keptEvent = object<KeptEvent>({ name, data: optional(payload) });
const keptUpdate = object<KeptUpdate>({ update: name, name, data: optional(payload) });

const step = taggedUnion("type", {
  // A refusal is the owner's own.
  activity: object<Omit<Of<"activity">, "refusal">>({ type: anything, node }),
  child: object<Of<"child">>({ type: anything, node, childId: optional(name), isDetached: boolean }),
  timer: object<Of<"timer">>({ type: anything, dueAt: number({ min: 0, max: 8.64e15 }) }),
  "cancel-timer": object<Of<"cancel-timer">>({ type: anything, timer: count }),
  event: object<Of<"event">>({ type: anything, to: name, name, data: optional(payload) }),
  "cancel-instance": object<Of<"cancel-instance">>({ type: anything, to: name, reason: name }),
  "heed-cancel": object<Of<"heed-cancel">>({ type: anything }),
  "custom-status": object<Of<"custom-status">>({ type: anything, status: nullable(jsonText({ bytesMax: 16_384 })) }),
  patch: object<Of<"patch">>({ type: anything, patch: name }),
  answer: object<Of<"answer">>({
    type: anything,
    update: name,
    output: optional(payload),
    failure: optional(failure(0)),
  }),
  continue: object<Of<"continue">>({
    type: anything,
    input: optional(payload),
    events: list(keptEvent, { max: stepsInAnswerMax }),
    updates: optional(list(keptUpdate, { max: stepsInAnswerMax })),
  }),
  complete: object<Of<"complete">>({ type: anything, output: optional(payload) }),
  fail: object<Of<"fail">>({ type: anything, failure: failure(0) }),
  cancel: object<Of<"cancel">>({ type: anything, reason: name }),
} satisfies Record<Step["type"] | LastStep["type"], Schema>);

const error = object<TurnError>({ code: oneOf(...Object.keys(errorCodes)), message: text({ max: 100_000 }) });

const queryReply = object<{ output?: string; error?: TurnError }>({
  output: optional(payload),
  error: optional(error),
} satisfies Record<keyof (QueryReply & { output?: string; error?: TurnError }), Schema>);

const turnSteps = object<TurnSteps>({
  steps: list(step, { max: stepsInAnswerMax }),
  queries: list(queryReply, { max: 1000 }),
  updateRefusal: optional(error),
  canCancel: boolean,
});

const turnFailure = object<TurnFailure>({ failure: error });

export const turnAnswer: Schema = (value) => {
  const isFailure = typeof value === "object" && value !== null && "failure" in (value satisfies object as TurnAnswer);
  return isFailure ? turnFailure(value) : turnSteps(value);
};

/** A worker trusts its server, which wrote the events. */
export const turnEvents = list(
  object<TurnEvents>({
    turn: count,
    at: number({ min: -8.64e15, max: 8.64e15 }),
    firstEvent: count,
    events: list(anything, { max: Infinity }),
  }),
  { max: Infinity },
);

const anyText = text({ max: Infinity });

export const turnQuestion = object<TurnQuestion>({
  instanceId: name,
  workflow: name,
  version: name,
  generation: count,
  first: count,
  events: count,
  steps: count,
  seen: count,
  news: optional(turnEvents),
  queries: list(object<TurnQuery>({ name, input: optional(anyText) }), { max: Infinity }),
  update: optional(object<TurnUpdate>({ name, data: optional(anyText) })),
});
