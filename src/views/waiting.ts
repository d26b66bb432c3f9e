import { isoText } from "../base/time-limits.ts";
import { localName } from "../base/namespace.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { TaskWait } from "../dispatch/wait-reason.ts";
import { CodeMachine } from "../kernel/code/code-machine.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";
import { isInFlight, isUnderWay } from "../kernel/task-state.ts";
import type {
  ChildWait,
  CodeLine,
  EventWait,
  InstanceWait,
  RunningOrWaitingTask,
  TimerWait,
  UntakenEvents,
  UpdateWait,
  Wait,
} from "./wait.ts";
import { waitingSince, waitInside } from "./wait-inside.ts";

/** Limit of listed waits: a DAG may have thousands of tasks under way. */
export const waitsListedMax = 100;

/** Waits of an instance, and the events that nobody waited for. */
export interface WaitingView {
  /** Its waits: those of the instance as a whole first, then its code, then its tasks; at most 100. */
  readonly waiting: readonly Wait[];
  /** Number of waits, listed or not. */
  readonly waitingTotal: number;
  /** Events that came and that the code has not waited for; none while its code is not in memory. */
  readonly untakenEvents: readonly UntakenEvents[];
}

/** Live facts that the history does not have: the process that owns the instance tells them. */
export interface LiveWaits {
  /** The wait of an attempt in the dispatcher; undefined if it is not there, or runs. */
  readonly taskWait: (task: number) => TaskWait | undefined;
  /** The progress that the running job of a task reports. */
  readonly progress: (task: number) => TaskProgress | undefined;
  /** The maximum of instances of its workflow. */
  readonly instancesMax: number | undefined;
  /** Why the code of the instance does not go on. */
  readonly blocked: Pick<InstanceWait, "reason" | "text" | "since"> | undefined;
  /** The waits of the code; undefined for a DAG, and while the code is not in memory. */
  readonly code: CodeWaits | undefined;
}

export interface CodeWaits {
  readonly waits: readonly CodeWait[];
  readonly untakenEvents: readonly UntakenEvents[];
}

/** A promise that the code waits for. */
export type CodeWait = { readonly since?: number | undefined; readonly line: CodeLine | undefined } & (
  | { readonly kind: "task"; readonly task: number }
  | { readonly kind: "timer"; readonly dueAt: number }
  | { readonly kind: "event"; readonly name: string; readonly dueAt: number | undefined }
);

const nothing: WaitingView = { waiting: [], waitingTotal: 0, untakenEvents: [] };

export function viewWaiting(machine: Machine, live: LiveWaits): WaitingView {
  const { state } = machine;
  if (hasEnded(state.status)) return nothing;
  const own: Wait[] = [...instanceWaits(machine, live), ...codeWaits(machine, live)];
  const tasks = [...state.waitingTasks(), ...state.tasksInFlight(), ...state.inFlightItems()];
  if (own.length + tasks.length === 0 && machine instanceof CodeMachine && live.code === undefined)
    own.push(reactionWait);
  const listed = tasks.slice(0, Math.max(0, waitsListedMax - own.length));
  const promises = promisesByTask(live.code);
  return {
    waiting: [
      ...own.slice(0, waitsListedMax),
      ...listed.map((task) => taskOrChild(machine, task, live, promises.get(task))),
    ],
    waitingTotal: own.length + tasks.length,
    untakenEvents: live.code?.untakenEvents ?? [],
  };
}

function instanceWaits({ state }: Machine, { instancesMax: max, blocked }: LiveWaits): InstanceWait[] {
  const waits: InstanceWait[] = [];
  const nobody = { max: undefined, by: undefined, note: undefined };
  if (state.status === "Ready") {
    const text = placeAmong(max ?? 0, localName(state.workflow));
    waits.push({ kind: "instance", reason: "workflow-limit", text, since: state.createdAt, ...nobody, max });
  }
  if (state.status === "Paused" || state.pausing) {
    const { at: since, by, reason: note } = state.pause ?? {};
    waits.push({ kind: "instance", reason: "paused", text: resumeText(by, note), since, max: undefined, by, note });
  }
  if (blocked !== undefined) waits.push({ kind: "instance", ...nobody, ...blocked });
  return waits;
}

/** Code that is not in memory, or has yet to begin, may have nothing on record to wait for. */
const reactionWait: InstanceWait = {
  kind: "instance",
  reason: "code",
  text: "its code to go on: what that waits for is known while it is in memory",
  since: undefined,
  max: undefined,
  by: undefined,
  note: undefined,
};

export function placeAmong(max: number, workflow: string): string {
  return `a place among the ${max} instances of workflow "${workflow}" that may run at a time`;
}

function resumeText(by: string | undefined, note: string | undefined): string {
  const paused = by === undefined ? "" : `, which ${by} has paused`;
  return `the instance to be resumed${paused}${note === undefined ? "" : `: ${note}`}`;
}

function codeWaits(machine: Machine, { code }: LiveWaits): Wait[] {
  if (!(machine instanceof CodeMachine)) return [];
  const { state } = machine;
  const updates = (state.updates?.open ?? []).map(({ update, name, at }): UpdateWait => {
    return { kind: "update", text: `the code to answer update "${name}"`, since: at, name, update };
  });
  if (code !== undefined) return [...code.waits.flatMap(eventOrTimer), ...updates];
  const timers = Array.from(state.timersDue.entries, ([, dueAt]): TimerWait => {
    return { kind: "timer", text: timerText(dueAt), since: undefined, line: undefined, dueAt };
  });
  return [...timers, ...updates];
}

function eventOrTimer(wait: CodeWait): (EventWait | TimerWait)[] {
  const { since, line } = wait;
  if (wait.kind === "timer") {
    return [{ kind: "timer", text: timerText(wait.dueAt), since, line, dueAt: wait.dueAt }];
  }
  if (wait.kind === "task") return [];
  const { name, dueAt } = wait;
  const text = `event "${name}"${dueAt === undefined ? "" : `, until ${isoText(dueAt)}`}`;
  return [{ kind: "event", text, since, line, name, dueAt }];
}

function timerText(dueAt: number): string {
  return `its timer, due at ${isoText(dueAt)}`;
}

type TaskPromise = Extract<CodeWait, { kind: "task" }>;

function promisesByTask(code: CodeWaits | undefined): ReadonlyMap<number, TaskPromise> {
  const promises = (code?.waits ?? []).filter((wait): wait is TaskPromise => wait.kind === "task");
  return new Map(promises.map((wait) => [wait.task, wait]));
}

function taskOrChild(
  machine: Machine,
  task: number,
  live: LiveWaits,
  promise: TaskPromise | undefined,
): ChildWait | RunningOrWaitingTask {
  const { state } = machine;
  const { kind } = state.definition(task);
  const isChild = kind === "nested" && isInFlight(state.phase(task));
  return isChild ? childWait(machine, task, promise) : taskWait(machine, task, live, promise);
}

function childWait({ state }: Machine, task: number, promise: TaskPromise | undefined): ChildWait {
  const { name: taskName, workflowName } = state.definition(task);
  const record = state.record(task);
  const id = record?.childId === undefined ? undefined : localName(record.childId);
  const text = `child instance${id === undefined ? "" : ` "${id}"`} of workflow "${workflowName ?? ""}"`;
  return {
    kind: "child",
    text,
    since: record?.startedAt ?? record?.scheduledAt,
    line: promise?.line,
    task,
    taskName,
    workflowName,
    childInstanceId: id,
  };
}

function taskWait(
  machine: Machine,
  task: number,
  live: LiveWaits,
  promise: TaskPromise | undefined,
): RunningOrWaitingTask {
  const { state } = machine;
  const { name: taskName, jobName: job } = state.definition(task);
  const record = state.record(task);
  const wait = isUnderWay(state.phase(task)) ? live.taskWait(task) : waitInside(state, task);
  const isRunning = wait === undefined;
  return {
    kind: "task",
    text: `task "${taskName}", ${isRunning ? (itemsText(machine, task) ?? `which ${runText(record?.worker)}`) : `which waits for ${wait.text}`}`,
    since: (isRunning ? record?.startedAt : undefined) ?? waitingSince(machine, task) ?? promise?.since,
    line: promise?.line,
    task,
    taskName,
    job,
    attempt: record?.attempt ?? 0,
    reason: wait?.reason ?? "running",
    worker: isRunning ? record?.worker : undefined,
    retryAt: record?.retryAt,
    slots: wait?.slots,
    max: wait?.max,
    dueAt: wait?.dueAt,
    requires: wait?.requires,
  };
}

/** Of a map whose items run. */
function itemsText(machine: Machine, task: number): string | undefined {
  const items = machine instanceof DagMachine ? machine.state.items.ofTask(task) : undefined;
  if (items === undefined) return undefined;
  const { total, waiting, running } = items.counts;
  return `of whose ${total} items ${running} are under way and ${waiting} wait`;
}

function runText(worker: string | undefined): string {
  return worker === undefined ? "is being started" : `runs on ${worker}`;
}
