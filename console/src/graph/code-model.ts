import type { Event } from "../../../src/kernel/event.ts";
import type { NodeSpec } from "../../../src/kernel/node-spec.ts";
import type { HistoryTurn, InstanceView, TaskView } from "../api/model.ts";
import type { Wait } from "../api/waits.ts";
import type { GraphEdge, GraphModel, GraphNode } from "./model.ts";
import { type GraphTexts, taskDetail, type TaskWords } from "./task-detail.ts";

export interface CodeWords extends TaskWords {
  readonly start: string;
  readonly started: string;
  readonly end: string;
  readonly timer: string;
  readonly fired: string;
  readonly canceled: string;
  readonly event: (name: string) => string;
  readonly update: (name: string) => string;
  readonly came: string;
  readonly waitsFor: string;
  readonly generation: (number: number) => string;
  readonly times: (name: string, count: number) => string;
}

/** Equal steps of one turn, or one after another, from this number on are one node. */
const foldFrom = 5;

interface Step extends GraphNode {
  readonly turn: number;
}

/**
 * The graph of a code workflow, as its history tells it. What arrived in a turn led to the steps of that turn: an edge
 * from each arrival to each step. Arrivals without steps join where a step follows and nothing is outstanding.
 */
export function codeModel(view: InstanceView, turns: readonly HistoryTurn[], texts: GraphTexts<CodeWords>): GraphModel {
  const builder = new CodeGraph(view, texts);
  for (const turn of turns) builder.addTurn(turn);
  return foldEqual(builder.finish(), texts.words);
}

class CodeGraph {
  readonly #tasks: ReadonlyMap<number, TaskView>;
  readonly #texts: GraphTexts<CodeWords>;
  readonly #words: CodeWords;
  readonly #view: InstanceView;
  #nodes = new Map<string, Step>();
  #edges: GraphEdge[] = [];
  /** Arrivals that have led to nothing yet. */
  #open: string[] = [];
  #outstanding = new Set<string>();
  #taskCount = 0;
  #turn = 0;
  /** Arrivals by turn: a wait that begins with a turn follows from them. */
  #arrivals: { readonly at: number; readonly ids: readonly string[] }[] = [];
  /** Due times of the timers that have not fired, by node. */
  #timersDue = new Map<string, number>();

  constructor(view: InstanceView, texts: GraphTexts<CodeWords>) {
    this.#view = view;
    this.#texts = texts;
    this.#words = texts.words;
    this.#tasks = new Map(view.tasks.map((task) => [task.number, task]));
  }

  addTurn({ turn, at, events }: HistoryTurn): void {
    this.#turn = turn;
    const arrived: string[] = [];
    const steps: string[] = [];
    for (const event of events as unknown as Event[]) {
      const arrival = this.#arrivalOf(event);
      if (arrival !== undefined) arrived.push(arrival);
      const step = this.#stepOf(event);
      if (step !== undefined) steps.push(step);
    }
    if (arrived.length > 0) this.#arrivals.push({ at, ids: arrived });
    if (steps.length === 0) {
      this.#open.push(...arrived);
      return;
    }
    const isJoin = arrived.length === 0 || [...this.#outstanding].every((id) => steps.includes(id));
    for (const step of steps) {
      for (const from of arrived) this.#edges.push({ from, to: step, state: "taken" });
      if (isJoin) for (const from of this.#open) this.#edges.push({ from, to: step, state: "inferred" });
    }
    if (isJoin) this.#open = [];
  }

  /** The node of what came in: a result, a timer, an event. */
  #arrivalOf(event: Event): string | undefined {
    switch (event.type) {
      case "InstanceCreated":
      case "InstanceContinued":
        return this.#begin(event.generation);
      case "TaskSucceeded":
        return this.#settle(`task:${event.task}`);
      case "TaskFailed":
        return event.retryAt === undefined ? this.#settle(`task:${event.task}`) : undefined;
      case "TasksStopped":
      case "TasksCanceled":
        for (const task of event.tasks) this.#settle(`task:${task}`);
        return undefined;
      case "TimerFired":
        return this.#settleTimer(event.timer, "Success", this.#words.fired);
      case "TimerCanceled":
        this.#settleTimer(event.timer, "Canceled", this.#words.canceled);
        return undefined;
      case "EventRaised":
        return this.#addArrival(`event:${this.#nodes.size}`, this.#words.event(event.name));
      case "UpdateRequested":
        return this.#addArrival(`update:${event.update}`, this.#words.update(event.name));
      default:
        return undefined;
    }
  }

  /** The node of a step that the code took. */
  #stepOf(event: Event): string | undefined {
    if (event.type === "TaskAdded") return this.#addTask(event.node);
    if (event.type !== "TimerSet") return undefined;
    const id = `timer:${event.timer}`;
    const detail = this.#words.until(this.#texts.clock(event.dueAt));
    this.#outstanding.add(id);
    this.#timersDue.set(id, event.dueAt);
    this.#add({ id, label: this.#words.timer, detail, status: "Pending", kind: "timer", attempt: 0 });
    return id;
  }

  /** A new generation begins with an empty page: its tasks are numbered anew. */
  #begin(generation: number): string {
    const { start, started, generation: generationWord } = this.#words;
    this.#nodes = new Map();
    this.#edges = [];
    this.#open = [];
    this.#arrivals = [];
    this.#outstanding = new Set();
    this.#timersDue = new Map();
    this.#taskCount = 0;
    const label = generation > 1 ? generationWord(generation) : start;
    this.#add({ id: "start", label, detail: started, status: "Success", kind: "start", attempt: 0 });
    return "start";
  }

  #addTask(node: NodeSpec): string {
    const number = this.#taskCount++;
    const id = `task:${number}`;
    const task = this.#tasks.get(number);
    const label = task?.name ?? node.nodeName ?? node.jobName ?? String(node.nodeId);
    this.#outstanding.add(id);
    this.#add({
      id,
      label,
      detail: task === undefined ? "" : taskDetail(task, this.#texts),
      status: task?.status ?? "Pending",
      kind: task?.kind ?? "job",
      attempt: task?.attempt ?? 0,
      task: label,
      ...(task?.childInstanceId !== undefined && { childInstanceId: task.childInstanceId }),
      ...(task?.progress !== undefined && { progress: task.progress.fraction }),
    });
    return id;
  }

  #settle(id: string): string {
    this.#outstanding.delete(id);
    return id;
  }

  #settleTimer(timer: number, status: string, detail: string): string {
    const id = `timer:${timer}`;
    this.#timersDue.delete(id);
    const node = this.#nodes.get(id);
    if (node !== undefined) this.#nodes.set(id, { ...node, status, detail });
    return this.#settle(id);
  }

  /** An arrival from outside gets edges from the steps that led to it, unless something else is outstanding. */
  #addArrival(id: string, label: string): string {
    this.#add({ id, label, detail: this.#words.came, status: "Success", kind: "event", attempt: 0 });
    if (this.#outstanding.size === 0) {
      for (const from of this.#open) this.#edges.push({ from, to: id, state: "inferred" });
      this.#open = [];
    }
    return id;
  }

  #add(node: GraphNode): void {
    this.#nodes.set(node.id, { ...node, turn: this.#turn });
  }

  finish(): { readonly nodes: readonly Step[]; readonly edges: readonly GraphEdge[] } {
    const { status } = this.#view;
    if (this.#nodes.size === 0) return { nodes: [], edges: [] };
    if (status === "Success" || status === "Failed" || status === "Terminated") {
      this.#join({ id: "end", label: this.#words.end, detail: status, status, kind: "end", attempt: 0 });
    } else {
      for (const wait of this.#view.waiting) {
        if (wait.kind !== "event") continue;
        this.#addWait(wait);
      }
    }
    return { nodes: [...this.#nodes.values()], edges: this.#edges };
  }

  /** The timer of an event that is waited for until then is part of the wait. */
  #addWait({ name, dueAt, since = Infinity }: Extract<Wait, { kind: "event" }>): void {
    const [timer] = [...this.#timersDue].find(([, at]) => at === dueAt) ?? [];
    const id = timer ?? `wait:${name}`;
    const detail = this.#nodes.get(id)?.detail ?? this.#words.waitsFor;
    const node: GraphNode = {
      id,
      label: this.#words.event(name),
      detail,
      status: "Pending",
      kind: "event",
      attempt: 0,
    };
    if (timer !== undefined) return this.#add(node);
    const cause = this.#arrivals.findLast(({ at }) => at <= since);
    this.#join(node, this.#open.length > 0 ? this.#open : (cause?.ids ?? []));
  }

  #join(node: GraphNode, causes: readonly string[] = this.#open): void {
    this.#add(node);
    for (const from of causes) this.#edges.push({ from, to: node.id, state: "inferred" });
  }
}

/** Folds many equal steps into one node with their counts. */
function foldEqual(
  { nodes, edges }: { readonly nodes: readonly Step[]; readonly edges: readonly GraphEdge[] },
  words: CodeWords,
): GraphModel {
  const groups = new Map<string, Step[]>();
  for (const node of nodes) {
    if (node.kind !== "job" && node.kind !== "nested" && node.kind !== "timer") continue;
    const name = node.kind === "timer" ? node.label : node.label.replace(/[-#:]?\d+$/, "");
    groups.set(name, [...(groups.get(name) ?? []), node]);
  }
  const foldOf = new Map<string, string>();
  const folds = new Map<string, GraphNode>();
  for (const [name, steps] of groups) {
    if (steps.length < foldFrom) continue;
    const counts: Record<string, number> = {};
    for (const { status = "Pending", id } of steps) {
      counts[status] = (counts[status] ?? 0) + 1;
      foldOf.set(id, `fold:${name}`);
    }
    const status = ["Failed", "TimeoutFailed", "Running", "Pending"].find((each) => counts[each] !== undefined);
    folds.set(`fold:${name}`, {
      id: `fold:${name}`,
      label: words.times(name, steps.length),
      detail: "",
      status: status ?? "Success",
      kind: "fold",
      attempt: 0,
      counts,
    });
  }
  const idOf = (id: string): string => foldOf.get(id) ?? id;
  const seen = new Set<string>();
  const kept = edges.flatMap((edge) => {
    const folded = { ...edge, from: idOf(edge.from), to: idOf(edge.to) };
    const key = `${folded.from}>${folded.to}`;
    // A loop over equal steps leads back to itself; a graph from left to right has no way back.
    if (folded.from === folded.to || seen.has(key) || seen.has(`${folded.to}>${folded.from}`)) return [];
    seen.add(key);
    return [folded];
  });
  return { nodes: [...nodes.filter(({ id }) => !foldOf.has(id)), ...folds.values()], edges: kept };
}
