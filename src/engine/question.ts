import { EngineError } from "../base/error.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { Payload } from "../kernel/payload.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import { parsed } from "../code/values.ts";
import { CodeActor } from "../runtime/code-actor.ts";
import type { InstanceActor } from "../runtime/instance-actor.ts";
import { type Breakpoint, viewBreakpoint } from "../views/breakpoint.ts";
import {
  countSubTasks,
  type FailedTask,
  failedTasks,
  type InstanceView,
  type TaskDetails,
  viewInstance,
  viewTask,
} from "../views/instance-view.ts";
import { taskOf } from "./order.ts";

/** What can be asked about an instance; the answers are plain data, so they can travel. */
export interface Answers {
  /** How it stands. */
  readonly status: InstanceView;
  /** Without the values of its context, which may be large and are read from the store. */
  readonly breakpoint: Omit<Breakpoint, "context"> & {
    readonly key: number;
    readonly context: Readonly<Record<string, Payload>>;
  };
  readonly identity: {
    readonly key: number;
    readonly status: InstanceStatus;
    readonly workflow: string;
    readonly version: string;
  };
  readonly end: {
    readonly key: number;
    readonly status: InstanceStatus;
    readonly reason?: string | undefined;
    /** Of one that failed. */
    readonly failedTasks?: readonly FailedTask[] | undefined;
    /** Of a DAG. */
    readonly outputs?: Readonly<Record<string, Payload>> | undefined;
    /** Of a code workflow. */
    readonly output?: Payload | undefined;
  };
}

export type Question = keyof Answers;

/** What a user asks the code of a workflow. The answer is JSON text. */
export interface CodeQuery {
  readonly query: string;
  readonly input?: string;
}

/** One task of an instance, by name or number. */
export interface TaskQuery {
  readonly task: string | number;
}

export interface AnswerParts {
  readonly now: () => number;
  /** Why a task does not run yet. */
  readonly waitingFor: (actor: InstanceActor, task: number) => string | undefined;
  readonly progressOf: (actor: InstanceActor, task: number) => TaskProgress | undefined;
}

type Answerers = { readonly [Q in Question]: (actor: InstanceActor, parts: AnswerParts) => Answers[Q] };

const answerers: Answerers = {
  status: (actor, { waitingFor }) => ({
    ...viewInstance(actor.machine, (task) => waitingFor(actor, task)),
    historyLength: actor.eventCount,
    attention: actor instanceof CodeActor ? actor.attention : undefined,
    customStatus: actor instanceof CodeActor ? parsed(actor.machine.state.customStatus) : undefined,
  }),
  breakpoint: ({ machine, key }, { now }) => ({
    ...viewBreakpoint(machine, now()),
    key,
    context: Object.fromEntries(machine.state.context.entries),
  }),
  identity: ({ machine: { state }, key }) => {
    const { status, workflow, version } = state;
    return { key, status, workflow, version };
  },
  end: (actor) => {
    const { key, machine } = actor;
    const { status, reason } = machine.state;
    return {
      key,
      status,
      reason,
      failedTasks: status === "Failed" ? failedTasks(machine) : undefined,
      outputs: actor.outputs(),
      output: actor instanceof CodeActor ? actor.machine.state.output : undefined,
    };
  },
};

export function answerOf(
  question: Question | CodeQuery | TaskQuery,
  actor: InstanceActor,
  parts: AnswerParts,
): unknown {
  if (typeof question === "string") return answerers[question](actor, parts);
  return "task" in question ? viewDetails(question.task, actor, parts) : askCode(question, actor);
}

/** `TASK_UNKNOWN`. */
function viewDetails(given: string | number, actor: InstanceActor, parts: AnswerParts): TaskDetails {
  const { machine } = actor;
  const task = taskOf(machine, given);
  return {
    ...viewTask(machine, task, () => parts.waitingFor(actor, task)),
    progress: parts.progressOf(actor, task),
    subTasks: countSubTasks(machine, task),
  };
}

function askCode({ query, input }: CodeQuery, actor: InstanceActor): string | undefined {
  if (actor instanceof CodeActor) return actor.query(query, input);
  throw new EngineError("INSTANCE_STATE", `instance "${actor.id}" is a DAG: queries are for code workflows`);
}
