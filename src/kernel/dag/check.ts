import { preview } from "../../base/preview.ts";
import { EngineError } from "../../base/error.ts";
import { durationMsMax, durationSecondsMax } from "../../base/time-limits.ts";
import type { DagSpec, EdgeSpec } from "./dag-spec.ts";
import type { NodeId, NodeSpec } from "../node-spec.ts";
import { isBroadcast, kindOf, nodeTypes } from "../task-definition.ts";
import { itemsProblem } from "./check-map.ts";
import { taskNames } from "./task-names.ts";

/**
 * Refuses a definition that could not run: WORKFLOW_INVALID, WORKFLOW_EMPTY, DEPENDENCY_SELF or WORKFLOW_CYCLE. Whether
 * the jobs and workflows it names exist is asked at submit, where they are known. Fields it does not know pass.
 */
export function checkSpec(spec: DagSpec): void {
  const workflow = checkWorkflow(spec);
  const places = checkNodes(workflow, spec.nodes);
  const arcs = checkEdges(workflow, spec, places);
  checkOrder(workflow, spec.nodes, arcs);
}

/** An edge by the places of its nodes in the definition. */
export interface Arc {
  readonly from: number;
  readonly to: number;
}

/**
 * The places of the nodes that can never run: those on a cycle and those behind one. Kahn's algorithm: a node goes once
 * nothing that is left points to it, so each edge is looked at once, however long or many the paths.
 */
export function neverFree(nodeCount: number, arcs: readonly Arc[]): Set<number> {
  const successors: number[][] = Array.from({ length: nodeCount }, () => []);
  const waitsFor = new Int32Array(nodeCount);
  for (const { from, to } of arcs) {
    (successors[from] as number[]).push(to);
    (waitsFor[to] as number)++;
  }

  const left = new Set(successors.keys());
  const free = [...left].filter((node) => waitsFor[node] === 0);
  for (const node of free) {
    left.delete(node);
    for (const successor of successors[node] as number[]) {
      if (--(waitsFor[successor] as number) === 0) free.push(successor);
    }
  }
  return left;
}

interface Rule {
  readonly holds: (value: unknown) => boolean;
  readonly must: string;
  /** Accepts null, which Java writes for absent fields. */
  readonly orNull?: true;
}

/** Rules by field. A list, because definitions have many nodes, and each is checked against it. */
type Rules = readonly (readonly [field: string, rule: Rule])[];

/** Limits of one definition, wherever it comes from. The catalogue of a server allows fewer. */
const nodesMax = 100_000;
const edgesMax = 500_000;

const text: Rule = { holds: isText, must: "be text" };
const name: Rule = { holds: (value) => isText(value) && value.trim() !== "", must: "be text that is not blank" };
const flag: Rule = { holds: (value) => typeof value === "boolean", must: "be true or false" };
const object: Rule = { holds: isObject, must: "be an object" };
const id: Rule = {
  holds: (value) => Number.isSafeInteger(value) || (isText(value) && value !== ""),
  must: "be a whole number or text that is not empty",
};
const seconds: Rule = {
  holds: (value) => isNumber(value) && value > 0 && value <= durationSecondsMax,
  must: `be a number above 0, at most ${durationSecondsMax}`,
};
const names: Rule = {
  holds: (value) => Array.isArray(value) && value.every(name.holds),
  must: "be a list of texts that are not blank",
};
const texts: Rule = { holds: (value) => Array.isArray(value) && value.every(isText), must: "be a list of texts" };

function wholeNumber(min: number): Rule {
  return {
    holds: (value) => isNumber(value) && Number.isSafeInteger(value) && value >= min,
    must: `be a whole number, at least ${min}`,
  };
}

function numberFrom(min: number, max = Number.MAX_VALUE): Rule {
  const limit = max === Number.MAX_VALUE ? "" : ` and at most ${max}`;
  return {
    holds: (value) => isNumber(value) && value >= min && value <= max,
    must: `be a number, at least ${min}${limit}`,
  };
}

function oneOf(...words: readonly (string | number)[]): Rule {
  return { holds: (value) => words.some((word) => word === value), must: `be one of ${words.map(preview).join(", ")}` };
}

function orNull(rule: Rule): Rule {
  return { ...rule, orNull: true };
}

const workflowRules: Rules = Object.entries({
  name,
  domain: name,
  maxConcurrentTasks: wholeNumber(1),
  timeoutSeconds: seconds,
  failurePolicy: oneOf("finish-running", "abort-running", "continue"),
  maxInstances: object,
  context: object,
});

const maxInstancesRules: Rules = Object.entries({ max: wholeNumber(1), policy: oneOf("queue", "skip", "fail") });

const nodeIdRules: Rules = Object.entries({ nodeId: id });
const nodeNameRules: Rules = Object.entries({ nodeName: orNull(name) });

const nodeRules: Rules = Object.entries({
  nodeType: orNull(oneOf(...Object.values(nodeTypes))),
  jobId: orNull(id),
  nodeParams: orNull(text),
  enable: orNull(flag),
  skipWhenFailed: orNull(flag),
  taskId: name,
  jobName: name,
  timeoutSeconds: seconds,
  defaultTimeoutSeconds: seconds,
  heartbeatTimeoutSeconds: seconds,
  retryCount: wholeNumber(0),
  retryPolicy: object,
  domain: name,
  workerTags: names,
  worker: name,
  workflowName: name,
  workflowVersion: name,
  dependsOn: texts,
});

const retryPolicyRules: Rules = Object.entries({
  initialMs: numberFrom(0, durationMsMax),
  factor: numberFrom(1),
  maxMs: numberFrom(0, durationMsMax),
  jitter: numberFrom(0, 1),
  nonRetryable: texts,
  retryOn: texts,
});

const edgeEndRules: Rules = Object.entries({ from: id, to: id });
const edgeRules: Rules = Object.entries({ property: orNull(text), enable: orNull(flag) });

/** Returns what messages call the workflow. */
function checkWorkflow(spec: unknown): string {
  if (!isObject(spec)) throw invalid("the workflow", `must be an object, got ${preview(spec)}`);
  const workflow = isText(spec["name"]) ? `workflow ${preview(spec["name"])}` : "the workflow";
  checkFields(() => workflow, spec, workflowRules);
  if (isObject(spec["maxInstances"])) {
    requireFields(() => `${workflow}, maxInstances`, spec["maxInstances"], maxInstancesRules);
  }

  if (!Array.isArray(spec["nodes"])) throw invalid(workflow, `nodes must be a list, got ${preview(spec["nodes"])}`);
  if (spec["nodes"].length === 0) throw new EngineError("WORKFLOW_EMPTY", `${workflow} has no tasks`);
  checkCount(workflow, "nodes", spec["nodes"].length, nodesMax);
  return workflow;
}

/** Returns the place of each node in the definition. */
function checkNodes(workflow: string, nodes: readonly NodeSpec[]): Map<NodeId, number> {
  const places = new Map<NodeId, number>();
  const idTexts = new Set<string>();
  for (const [place, node] of nodes.entries()) {
    checkNode(workflow, place, node);
    // JSON tells 1 from "1"; a path or a task's name does not.
    const idText = String(node.nodeId);
    if (idTexts.has(idText))
      throw invalid(workflow, `nodes[${place}] has the nodeId of another node: ${preview(node.nodeId)}`);
    idTexts.add(idText);
    places.set(node.nodeId, place);
  }
  return places;
}

function checkNode(workflow: string, place: number, node: unknown): void {
  const where = (): string => `${workflow}, nodes[${place}]`;
  if (!isObject(node)) throw invalid(where(), `must be an object, got ${preview(node)}`);
  requireFields(where, node, nodeIdRules);
  checkFields(where, node, nodeNameRules);

  const task = (): string => `${workflow}, task ${preview(node["nodeName"] ?? node["nodeId"])}`;
  checkFields(task, node, nodeRules);
  if (isObject(node["retryPolicy"])) checkFields(() => `${task()}, retryPolicy`, node["retryPolicy"], retryPolicyRules);
  const problem = itemsProblem(node);
  if (problem !== undefined) throw invalid(task(), problem);
  const isJob = (node["nodeType"] ?? nodeTypes.job) === nodeTypes.job;
  if (!isJob && kindOf({ ...node, nodeType: nodeTypes.job }) === "map")
    throw invalid(task(), "only a job node has a map or a broadcast");
  if (isBroadcast(node) && node["worker"] !== undefined)
    throw invalid(task(), "a broadcast runs on every eligible worker: it designates none");
  if (node["nodeType"] === nodeTypes.nested && (node["workflowName"] ?? node["jobId"] ?? null) === null) {
    throw invalid(task(), "a nested workflow needs a workflowName or a jobId");
  }
}

function checkEdges(workflow: string, spec: DagSpec, places: ReadonlyMap<NodeId, number>): Arc[] {
  const edges: unknown = spec.edges ?? [];
  if (!Array.isArray(edges)) throw invalid(workflow, `edges must be a list, got ${preview(edges)}`);
  checkCount(workflow, "edges", edges.length, edgesMax);
  return edges.map((edge: unknown, place): Arc => {
    checkEdge(workflow, place, edge);
    const from = placeOf(edge.from, edge, workflow, places);
    const to = placeOf(edge.to, edge, workflow, places);
    if (from === to) {
      throw new EngineError(
        "DEPENDENCY_SELF",
        `${workflow}: task ${preview(taskNames(spec.nodes)[to])} depends on itself`,
      );
    }
    return { from, to };
  });
}

function checkEdge(workflow: string, place: number, edge: unknown): asserts edge is EdgeSpec {
  const where = (): string => `${workflow}, edges[${place}]`;
  if (!isObject(edge)) throw invalid(where(), `must be an object, got ${preview(edge)}`);
  requireFields(where, edge, edgeEndRules);
  checkFields(() => `${workflow}, edge ${preview(edge["from"])} → ${preview(edge["to"])}`, edge, edgeRules);
}

function placeOf(nodeId: NodeId, edge: EdgeSpec, workflow: string, places: ReadonlyMap<NodeId, number>): number {
  const place = places.get(nodeId);
  if (place !== undefined) return place;
  throw invalid(workflow, `edge ${preview(edge.from)} → ${preview(edge.to)}: there is no node ${preview(nodeId)}`);
}

function checkOrder(workflow: string, nodes: readonly NodeSpec[], arcs: readonly Arc[]): void {
  const left = neverFree(nodes.length, arcs);
  if (left.size === 0) return;
  const names = taskNames(nodes);
  const cycle = cycleAmong(left, arcs).map((place) => names[place]);
  throw new EngineError("WORKFLOW_CYCLE", `${workflow}: tasks wait for each other in a circle: ${showCycle(cycle)}`);
}

/** Whatever is left has a predecessor that is left too, so a walk backwards comes round. */
function cycleAmong(left: ReadonlySet<number>, arcs: readonly Arc[]): number[] {
  const predecessor = new Map<number, number>();
  for (const { from, to } of arcs) if (left.has(from)) predecessor.set(to, from);

  const walk = new Set<number>();
  let place = left.values().next().value as number;
  while (!walk.has(place)) {
    walk.add(place);
    place = predecessor.get(place) as number;
  }
  const steps = [...walk];
  return fromTheFirst(steps.slice(steps.indexOf(place)).toReversed());
}

/** Turns the cycle so that it starts with the node that the definition lists first. */
function fromTheFirst(cycle: readonly number[]): number[] {
  const start = cycle.indexOf(cycle.reduce((least, place) => Math.min(least, place)));
  return [...cycle.slice(start), ...cycle.slice(0, start)];
}

const cycleNamesMax = 20;

/** `a → b → c → a`; of a long one the middle is left out. */
function showCycle(names: readonly (string | undefined)[]): string {
  const closed = [...names, names[0]];
  const leftOut = closed.length - cycleNamesMax;
  if (leftOut > 1) closed.splice(cycleNamesMax / 2, leftOut, `… ${leftOut} more …`);
  return closed.join(" → ");
}

function checkCount(workflow: string, what: "nodes" | "edges", count: number, max: number): void {
  if (count > max) throw invalid(workflow, `has ${count} ${what}; a definition has at most ${max}`);
}

/** `where` is called only if something is wrong. */
function requireFields(where: () => string, value: Readonly<Record<string, unknown>>, rules: Rules): void {
  for (const [field] of rules) {
    if ((value[field] ?? null) === null) throw invalid(where(), `${field} is missing`);
  }
  checkFields(where, value, rules);
}

function checkFields(where: () => string, value: Readonly<Record<string, unknown>>, rules: Rules): void {
  for (const [field, rule] of rules) {
    const found = value[field];
    if (found === undefined || (found === null && rule.orNull === true) || rule.holds(found)) continue;
    throw invalid(where(), `${field} must ${rule.must}, got ${preview(found)}`);
  }
}

function invalid(where: string, what: string): EngineError {
  return new EngineError("WORKFLOW_INVALID", `${where}: ${what}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
