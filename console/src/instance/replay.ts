import { CodeState } from "../../../src/kernel/code/code-state.ts";
import { DagState } from "../../../src/kernel/dag/dag-state.ts";
import type { DagSpec } from "../../../src/kernel/dag/dag-spec.ts";
import { Graph } from "../../../src/kernel/dag/graph.ts";
import type { Event } from "../../../src/kernel/event.ts";
import type { NodeSpec, NodeType } from "../../../src/kernel/node-spec.ts";
import { causeOf, Phase, statusOf } from "../../../src/kernel/task-state.ts";
import type { HistoryTurn, InstanceView, TaskView, Topology } from "../api/model.ts";
import { payloadValue } from "../base/payload-value.ts";

/** An instance as it was at the end of a turn: the kernel's own fold of the events up to there. */
export interface PastInstance {
  readonly view: InstanceView;
  readonly context: Readonly<Record<string, unknown>>;
  readonly turn: number;
  readonly at: number;
}

/** Folds a history up to any turn. Going forward continues from the last moment. */
export class Replay {
  readonly #turns: readonly HistoryTurn[];
  readonly #live: InstanceView;
  readonly #spec: DagSpec | undefined;
  #state: DagState | CodeState;
  /** Turns that are folded so far. */
  #folded = 0;

  constructor(turns: readonly HistoryTurn[], live: InstanceView, topology: Topology | undefined) {
    this.#turns = turns;
    this.#live = live;
    this.#spec = topology === undefined ? undefined : specOf(live, topology);
    this.#state = this.#begin();
  }

  /** The instance after the turn at this place of the list. */
  at(place: number): PastInstance {
    if (place + 1 < this.#folded) {
      this.#state = this.#begin();
      this.#folded = 0;
    }
    while (this.#folded <= place) {
      const turn = this.#turns[this.#folded++];
      for (const event of turn?.events ?? []) this.#state.apply(event as unknown as Event, turn?.at ?? 0);
    }
    const turn = this.#turns[place];
    return { view: this.#view(), context: this.#context(), turn: turn?.turn ?? 0, at: turn?.at ?? 0 };
  }

  #begin(): DagState | CodeState {
    if (this.#spec !== undefined) return new DagState(new Graph(this.#spec));
    return new CodeState({ maxConcurrentTasks: Infinity, timeoutMs: undefined });
  }

  #view(): InstanceView {
    const state = this.#state;
    const tasks: TaskView[] = [];
    for (let task = 0; task < state.size; task++) {
      if (state.phase(task) !== Phase.removed) tasks.push(this.#task(task));
    }
    const { status, pausing, generation, createdAt, updatedAt, reason, startedAt, endedAt } = state;
    return {
      ...this.#live,
      waiting: [],
      waitingTotal: 0,
      untakenEvents: [],
      status,
      pausing,
      generation,
      createdAt,
      updatedAt,
      reason,
      startedAt,
      endedAt,
      attention: undefined,
      customStatus: state instanceof CodeState ? payloadValue(state.customStatus) : undefined,
      tasks,
    };
  }

  #task(task: number): TaskView {
    const state = this.#state;
    const definition = state.definition(task);
    const record = state.record(task);
    const parent = state.parentOf(task);
    return {
      number: task,
      name: definition.name,
      nodeId: definition.nodeId,
      kind: definition.kind,
      job: definition.jobName,
      status: statusOf(state.phase(task)),
      cause: causeOf(state.phase(task)),
      attempt: record?.attempt ?? 0,
      startedAt: record?.startedAt,
      endedAt: record?.endedAt,
      worker: record?.worker,
      failure: record?.failure,
      retryAt: record?.retryAt,
      childInstanceId: record?.childId,
      items: state instanceof DagState ? state.items.ofTask(task)?.counts : undefined,
      isBroadcast: this.#live.tasks.find(({ number }) => number === task)?.isBroadcast,
      parentTask: parent === undefined ? undefined : state.definition(parent).name,
    };
  }

  #context(): Record<string, unknown> {
    return Object.fromEntries([...this.#state.context.entries].map(([key, value]) => [key, payloadValue(value)]));
  }
}

type ItemFields = Pick<NodeSpec, "map" | "broadcast">;

const nodeTypes: Readonly<Record<Topology["nodes"][number]["type"], NodeType>> = { TASK: 1, CONTROL: 2, NESTED: 3 };

/** A map as far as the fold needs it: its items are in the history, and its hooks are counted with them. */
function itemsOf({ kind, isBroadcast, hooks = [] }: Pick<TaskView, "kind" | "isBroadcast" | "hooks">): ItemFields {
  if (kind !== "map") return {};
  const given = Object.fromEntries(hooks.map((name) => [name, { jobName: name }]));
  if (isBroadcast === true) return { broadcast: given };
  return { map: { ...given, ...(!hooks.includes("source") && { items: [] }) } };
}

/** The definition as far as the fold needs it: the order of nodes and edges, and what a failure skips. */
function specOf(live: InstanceView, { nodes, edges }: Topology): DagSpec {
  const own = live.tasks.filter(({ parentTask }) => parentTask === undefined);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const subTasks = new Set(live.tasks.filter(({ parentTask }) => parentTask !== undefined).map(({ nodeId }) => nodeId));
  return {
    nodes: own.map(({ nodeId, name, job, ...task }) => ({
      ...itemsOf(task),
      nodeId,
      nodeName: name,
      nodeType: nodeTypes[byId.get(nodeId)?.type ?? "TASK"],
      skipWhenFailed: byId.get(nodeId)?.skipWhenFailed ?? false,
      ...(job !== undefined && { jobName: job }),
    })),
    edges: edges
      .filter(({ to }) => !subTasks.has(to))
      .map(({ from, to, property, enable }) => ({ from, to, enable, ...(property !== null && { property }) })),
  };
}
