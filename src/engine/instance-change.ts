import type { Machine } from "../kernel/machine.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import { firstItemNumber } from "../kernel/dag/map-items.ts";
import { taskEffects } from "../kernel/event-tasks.ts";
import type { Event, Trigger } from "../kernel/event.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import { localEvent } from "../views/local-event.ts";
import { type LiveTask, type TaskView, taskNumbers, viewTask } from "../views/instance-view.ts";
import { hasMark, localName, namespaceOf } from "../base/namespace.ts";

/** One durable turn of an instance, as subscribers get it. */
export interface InstanceChange {
  readonly namespace: string;
  /** The application that the instance belongs to. */
  readonly app: string | undefined;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly workflowVersion: string;
  readonly kind: "dag" | "code";
  /** Turns of an instance are numbered from 0, through all generations. */
  readonly turn: number;
  /** The number of the first event; the next change continues after the last. */
  readonly firstEvent: number;
  readonly events: readonly Event[];
  readonly at: number;
  readonly status: InstanceStatus;
  readonly pausing: boolean;
  readonly reason: string | undefined;
  readonly trigger: Trigger;
  readonly traceparent: string | undefined;
  readonly parentInstanceId: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** The tasks that changed, after the change. */
  readonly tasks: readonly TaskView[];
}

/** A change tells what the history has. */
const nothingLive: LiveTask = { taskWait: () => undefined, progress: () => undefined };

export function changeOf({
  instanceId,
  workflow,
  turn,
  firstEvent,
  at,
  events,
  machine,
}: CommittedTurn): InstanceChange {
  const { status, pausing, reason, version, trigger, traceparent, parent, app, createdAt, startedAt, endedAt } =
    machine.state;
  return {
    namespace: namespaceOf(instanceId),
    app,
    instanceId: localName(instanceId),
    workflowName: localName(workflow),
    workflowVersion: version,
    kind: machine.kind,
    turn,
    firstEvent,
    events: hasMark(instanceId) ? events.map(localEvent) : events,
    at,
    status,
    pausing,
    reason,
    trigger,
    traceparent,
    parentInstanceId: parent && localName(parent.id),
    createdAt,
    startedAt,
    endedAt,
    tasks: touchedTasks(machine, events).map((task) => viewTask(machine, task, nothingLive)),
  };
}

function touchedTasks(machine: Machine, events: readonly Event[]): number[] {
  const touched = new Set<number>();
  // An item changes the counts of its map.
  const note = (task: number): void => {
    const items = machine instanceof DagMachine && task >= firstItemNumber ? machine.state.items.find(task) : undefined;
    if (task < firstItemNumber || items !== undefined) touched.add(items?.task ?? task);
  };
  let added = 0;
  for (const event of events) {
    const effect = taskEffects[event.type];
    // A task that code schedules changes no other task, and there may be a hundred thousand of them.
    if (event.type === "TaskAdded" && event.parent === undefined) added++;
    else if (effect === "all" || "subTasks" in event) return taskNumbers(machine);
    else if (effect === "none") continue;
    else if ("tasks" in event) for (const task of event.tasks) note(task);
    else if ("task" in event) note(event.task);
  }
  const { size } = machine.state;
  for (let task = size - added; task < size; task++) touched.add(task);
  return [...touched];
}
