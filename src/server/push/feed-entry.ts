import type { HistoryEntry } from "../../engine/instance-calls.ts";
import type { InstanceChange } from "../../engine/instance-change.ts";
import type { InstanceView, TaskView } from "../../views/instance-view.ts";
import type { Cursor } from "./cursor.ts";

/** A change in the feed. */
export interface FeedEntry {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly createdAt: number;
  readonly turn: number;
  /** The cursor after this change. */
  readonly cursor: Cursor;
  /** The change as JSON. */
  readonly text: string;
  /** Approximate length of the text. */
  readonly size: number;
}

/** A node in a pushed change. */
interface PushedNode {
  readonly nodeId: number | string;
  readonly name: string;
  readonly status: string;
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly worker: string | undefined;
  readonly retryAt: number | undefined;
  readonly childInstanceId: string | undefined;
  readonly error: string | undefined;
  /** Why it does not run, as far as its history tells: not the waits in the dispatcher. */
  readonly wait: TaskView["wait"];
}

/** A pushed change. */
interface PushedChange {
  readonly seq: number;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly kind: string;
  readonly at: number;
  readonly turn: number;
  readonly event: number;
  readonly events: readonly string[];
  readonly status: string;
  readonly pausing: true | undefined;
  readonly reason: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly parentInstanceId: string | undefined;
  readonly nodes: readonly PushedNode[];
}

/** Estimated sizes of an instance without nodes, and of a node. */
const instanceSize = 330;
const nodeSize = 110;

/** A live change of the engine, serialized lazily and once for all followers. */
export class LiveEntry implements FeedEntry {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly createdAt: number;
  readonly turn: number;
  readonly cursor: Cursor;
  readonly size: number;
  #pushed: PushedChange | undefined;
  #text = "";

  constructor(change: InstanceChange, { feed, seq, at }: { feed: string; seq: number; at: number }) {
    const { instanceId, workflowName, createdAt, turn } = change;
    this.instanceId = instanceId;
    this.workflowName = workflowName;
    this.createdAt = createdAt;
    this.turn = turn;
    this.cursor = { feed, seq, at, turn, createdAt };
    this.size = instanceSize + change.tasks.length * nodeSize + (change.reason?.length ?? 0);
    this.#pushed = pushedChange(change, seq);
  }

  get text(): string {
    if (this.#pushed !== undefined) {
      this.#text = JSON.stringify(this.#pushed);
      this.#pushed = undefined;
    }
    return this.#text;
  }
}

/** Selects the pushed fields; the events, which hold outputs, are left out. */
function pushedChange(change: InstanceChange, seq: number): PushedChange {
  return {
    seq,
    instanceId: change.instanceId,
    workflowName: change.workflowName,
    kind: change.kind,
    at: change.at,
    turn: change.turn,
    event: change.firstEvent,
    events: change.events.map(({ type }) => type),
    status: change.status,
    pausing: change.pausing || undefined,
    reason: change.reason,
    createdAt: change.createdAt,
    startedAt: change.startedAt,
    endedAt: change.endedAt,
    parentInstanceId: change.parentInstanceId,
    nodes: change.tasks.map(pushedNode),
  };
}

/** A turn from the history, for a client that missed it. */
export function entryOfTurn(
  entry: HistoryEntry,
  of: { instanceId: string; workflowName: string; createdAt: number; cursor: Cursor },
): FeedEntry {
  const { turn, at, firstEvent, events } = entry;
  const { cursor, instanceId, workflowName, createdAt } = of;
  const types = events.map(({ type }) => type);
  const text = JSON.stringify({
    instanceId,
    workflowName,
    at,
    turn,
    event: firstEvent,
    events: types,
    createdAt,
    replayed: true,
  });
  return { instanceId, workflowName, createdAt, turn, cursor: { ...cursor, turn, createdAt }, text, size: text.length };
}

/** A snapshot of an instance, at least up to this turn. */
export function entryOfView(view: InstanceView, turn: number, place: { cursor: Cursor; now: number }): FeedEntry {
  const { instanceId, workflowName, kind, status, createdAt } = view;
  const text = JSON.stringify({
    instanceId,
    workflowName,
    kind,
    at: place.now,
    turn,
    status,
    pausing: view.pausing || undefined,
    reason: view.reason,
    createdAt,
    startedAt: view.startedAt,
    endedAt: view.endedAt,
    parentInstanceId: view.parentInstanceId,
    nodes: view.tasks.map(pushedNode),
    waiting: view.waiting,
    resync: true,
  });
  return {
    instanceId,
    workflowName,
    createdAt,
    turn,
    cursor: { ...place.cursor, turn, createdAt },
    text,
    size: text.length,
  };
}

function pushedNode(task: TaskView): PushedNode {
  const { nodeId, name, status, attempt, startedAt, endedAt, worker, retryAt, childInstanceId, failure, wait } = task;
  const error = failure?.message;
  return { nodeId, name, status, attempt, startedAt, endedAt, worker, retryAt, childInstanceId, error, wait };
}
