import type { Payload } from "../kernel/payload.ts";
import type { InstanceStatus } from "../kernel/status.ts";
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
    readonly reason?: string;
    readonly failedTasks: readonly FailedTask[];
    readonly outputs: Readonly<Record<string, Payload>>;
  };
}

export type Question = keyof Answers;

export interface AnswerParts {
  readonly now: () => number;
  /** Why a task does not run yet. */
  readonly waitingFor: (actor: InstanceActor, task: number) => string | undefined;
}

type Answerers = { readonly [Q in Question]: (actor: InstanceActor, parts: AnswerParts) => Answers[Q] };

const answerers: Answerers = {
  status: (actor, { waitingFor }) => viewInstance(actor.machine, (task) => waitingFor(actor, task)),
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
    const { status, reason } = actor.machine.state;
    return {
      key: actor.key,
      status,
      ...(reason !== undefined && { reason }),
      failedTasks: failedTasks(actor.machine),
      outputs: actor.outputs(),
    };
  },
};

export function answerOf(question: Question, actor: InstanceActor, parts: AnswerParts): Answers[Question] {
  return answerers[question](actor, parts);
}
