import type { InstanceView, TaskView, Topology } from "../api/model.ts";
import type { GraphEdge, GraphModel, GraphNode } from "./model.ts";
import { type GraphTexts, itemStatuses, taskDetail, type TaskWords } from "./task-detail.ts";

/** More sub-tasks than this are one node with a histogram. */
const foldFrom = 13;

export interface DagWords extends TaskWords {
  readonly subTasks: (count: number) => string;
}

/** The graph of a DAG instance. */
export function dagModel(view: InstanceView, topology: Topology, texts: GraphTexts<DagWords>): GraphModel {
  const { words } = texts;
  const byId = new Map(view.tasks.map((task) => [task.nodeId, task]));
  const children = new Map<string, TaskView[]>();
  for (const task of view.tasks) {
    if (task.parentTask === undefined) continue;
    const siblings = children.get(task.parentTask) ?? [];
    siblings.push(task);
    children.set(task.parentTask, siblings);
  }
  const folded = new Set([...children].filter(([, tasks]) => tasks.length >= foldFrom).map(([parent]) => parent));
  const isFolded = ({ parentTask }: TaskView): boolean => parentTask !== undefined && folded.has(parentTask);
  const nodes: GraphNode[] = view.tasks.filter((task) => !isFolded(task)).map((task) => nodeOf(task, texts));
  const edges: GraphEdge[] = [];
  for (const { from, to, property, enable } of topology.edges) {
    const [source, target] = [byId.get(from), byId.get(to)];
    if (source === undefined || target === undefined || isFolded(target) || isFolded(source)) continue;
    const label = property === null ? {} : { label: property };
    edges.push({ from: source.name, to: target.name, state: edgeState(source, target, enable), ...label });
  }
  for (const parent of folded) {
    const tasks = children.get(parent) ?? [];
    nodes.push(foldOf(parent, tasks, words));
    edges.push({ from: parent, to: foldId(parent), state: "taken" });
  }
  return { nodes, edges };
}

function foldId(parent: string): string {
  return `fold:${parent}`;
}

function nodeOf(task: TaskView, texts: GraphTexts): GraphNode {
  return {
    id: task.name,
    label: task.name,
    detail: taskDetail(task, texts),
    status: task.status,
    kind: task.kind,
    attempt: task.attempt,
    task: task.name,
    ...(task.items !== undefined && { counts: itemStatuses(task.items) }),
    ...(task.childInstanceId !== undefined && { childInstanceId: task.childInstanceId }),
    ...(task.progress !== undefined && { progress: task.progress.fraction }),
  };
}

function edgeState(from: TaskView, to: TaskView, isEnabled: boolean): GraphEdge["state"] {
  if (!isEnabled || to.cause === "branch" || from.cause === "branch") return "off";
  const isPassed = from.status === "Success" || from.status === "Skipped";
  return isPassed && to.status !== "Canceled" ? "taken" : "pending";
}

const urgency = ["Failed", "TimeoutFailed", "Running", "Pending", "Stopped"];

function foldOf(parent: string, tasks: readonly TaskView[], words: DagWords): GraphNode {
  const counts: Record<string, number> = {};
  for (const { status } of tasks) counts[status] = (counts[status] ?? 0) + 1;
  const worst = urgency.find((status) => counts[status] !== undefined);
  return {
    id: foldId(parent),
    label: words.subTasks(tasks.length),
    detail: "",
    status: worst ?? "Success",
    kind: "fold",
    attempt: 0,
    counts,
    task: parent,
  };
}
