/** The running code of one instance, for the tests of code/. */
import { type CodeWorkflow, defineWorkflow } from "../authoring/code-workflow.ts";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { type EngineError, messageOf } from "../base/error.ts";
import type { LogFields } from "../base/logger.ts";
import { isLast, type Step } from "../kernel/code/step.ts";
import type { Payload } from "../kernel/payload.ts";
import type { Arrival } from "./arrival.ts";
import { CodeRun, type RunParts } from "./code-run.ts";
import { Drain, type IdleListener } from "./drain.ts";
import { deliverAndWait } from "./deliver-and-wait.ts";

export type Body = (ctx: WorkflowContext, input: never) => Promise<unknown>;

/** Everything that promises settled by now lead to has happened. */
export function drained(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const unused = (): never => {
  throw new Error("a drain needs no time");
};
const drain = new Drain({
  now: unused,
  monotonic: unused,
  after: unused,
  soon: (callback) => void setImmediate(callback),
});

export function whenDrained(waiting: IdleListener): void {
  drain.wait(waiting);
}

/** The code of one instance; what the kernel would do about its steps is the test's to say. */
export class RunRig {
  readonly run: CodeRun;
  /** What the code did while nothing had come in. */
  readonly strays: EngineError[] = [];
  readonly lines: string[] = [];
  /** All of them, in order. */
  readonly steps: Step[] = [];
  at = 1000;

  constructor(code: Body | CodeWorkflow, parts: Partial<RunParts> = {}) {
    const note = (fields: LogFields, message: string): void =>
      void this.lines.push(`${message} ${JSON.stringify(fields)}`);
    this.run = new CodeRun({
      instanceId: "i",
      generation: 1,
      parentInstanceId: undefined,
      randomOf: { id: "i", generation: 1 },
      workflow: typeof code === "function" ? defineWorkflow("w", code) : code,
      logger: { debug: note, info: note, warn: note, error: note },
      services: {
        whenDrained,
        failureFrom: (error) => ({ type: (error as Error).name, message: messageOf(error), retryable: true }),
        versionOf: (workflow, wanted = "7") => (workflow === "unknown" ? undefined : wanted),
        hasDomain: (domain) => domain !== "unknown",
        within: (call) => call(),
      },
      owner: { onStray: (_, error) => void this.strays.push(error) },
      ...parts,
    });
  }

  /** Started, with what its code did about that. */
  static async started(code: Body | CodeWorkflow, input?: unknown): Promise<RunRig> {
    const rig = new RunRig(code);
    await rig.start(input);
    return rig;
  }

  start(input?: unknown, events: readonly { name: string; data: string | undefined }[] = []): Promise<Step[]> {
    return this.see({ type: "start", input: input === undefined ? undefined : JSON.stringify(input), events });
  }

  /** The steps that the code takes about it. */
  async see(arrival: Arrival): Promise<Step[]> {
    const taken: Step[] = [];
    await deliverAndWait(this.run, arrival, this.at, (steps) => taken.push(...steps));
    this.steps.push(...taken);
    return taken;
  }

  succeed(task: number, output?: unknown): Promise<Step[]> {
    return this.see({
      type: "task-succeeded",
      task,
      output: output === undefined ? undefined : JSON.stringify(output),
    });
  }

  fail(task: number, message = "no"): Promise<Step[]> {
    return this.see({ type: "task-failed", task, failure: { type: "Error", message, retryable: true } });
  }

  fire(timer: number): Promise<Step[]> {
    return this.see({ type: "timer-fired", timer });
  }

  raise(name: string, data?: unknown): Promise<Step[]> {
    return this.see({ type: "event", event: { name, data: data === undefined ? undefined : JSON.stringify(data) } });
  }

  update(update: string, name: string, data?: unknown): Promise<Step[]> {
    return this.see({ type: "update", update, name, data: data === undefined ? undefined : JSON.stringify(data) });
  }

  cancel(reason = "please", { isHeld = false } = {}): Promise<Step[]> {
    return this.see({ type: "cancel", reason, isHeld });
  }

  /** How it ended, as the code said. */
  get end(): Step | undefined {
    return this.steps.find(isLast);
  }
}

/** `activity a(1)`, `timer 5000`, `complete "x"` …: short enough to compare rows of them. */
export function inWords(steps: readonly Step[]): string[] {
  return steps.map((step) => {
    switch (step.type) {
      case "activity":
        return `activity ${step.node.jobName}(${step.node.nodeParams ?? ""})`;
      case "child":
        return `child ${step.node.workflowName}(${step.node.nodeParams ?? ""})${step.isDetached ? " detached" : ""}`;
      case "timer":
        return `timer ${step.dueAt}`;
      case "cancel-timer":
        return `cancel-timer ${step.timer}`;
      case "event":
        return `event ${step.name} to ${step.to}`;
      case "heed-cancel":
        return step.type;
      case "custom-status":
        return `custom-status ${step.status}`;
      case "patch":
        return `patch ${step.patch}`;
      case "answer":
        return `answer ${step.update} ${step.failure?.message ?? shownText(step.output)}`;
      case "continue":
        return `continue ${shownText(step.input)} with ${step.events.map(({ name, data }) => `${name}=${shownText(data)}`).join(",")}`;
      case "complete":
        return `complete ${shownText(step.output)}`;
      case "fail":
        return `fail ${step.failure.message}`;
      case "cancel":
        return `cancel ${step.reason}`;
      default:
        throw new Error("a step of another kind");
    }
  });
}

function shownText(payload: Payload | undefined): string {
  if (payload === undefined) return "undefined";
  return typeof payload === "string" ? payload : `payload ${payload.ref}`;
}
