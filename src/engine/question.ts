import { EngineError } from "../base/error.ts";
import type { Payload } from "../kernel/payload.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import { parsed } from "../code/values.ts";
import { CodeActor } from "../runtime/code-actor.ts";
import type { InstanceActor } from "../runtime/instance-actor.ts";
import { type Breakpoint, viewBreakpoint } from "./breakpoint.ts";
import { type FailedTask, failedTasks, type InstanceView, viewInstance } from "./instance-view.ts";

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

export interface AnswerParts {
  readonly now: () => number;
  /** Why a task does not run yet. */
  readonly waitingFor: (actor: InstanceActor, task: number) => string | undefined;
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

export function answerOf(question: Question | CodeQuery, actor: InstanceActor, parts: AnswerParts): unknown {
  return typeof question === "string" ? answerers[question](actor, parts) : askCode(question, actor);
}

function askCode({ query, input }: CodeQuery, actor: InstanceActor): string | undefined {
  if (actor instanceof CodeActor) return actor.query(query, input);
  throw new EngineError("INSTANCE_STATE", `instance "${actor.id}" is a DAG: queries are for code workflows`);
}
