import { messageOf } from "../base/error.ts";
import { isTooDeep } from "../base/json-depth.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { settleSpelling } from "../kernel/dag/spelling.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import type { ImportedWorkflow, ImportNote } from "./imported-workflow.ts";

/** Fields of a run, which TIS keeps in the file of the definition. */
const runTimeFields = ["status", "result", "startTime", "finishedTime", "instanceId", "disableByControlNode"] as const;

/** Converts the `dag-spec.json` of a TIS workflow, which is named after its folder. */
export function importTisWorkflow(name: string, text: string): ImportedWorkflow {
  const notes: ImportNote[] = [];
  const dagSpec = readSpec(text, notes);
  settleSpelling(dagSpec);
  dagSpec.name = name;
  const passedOver = new Set(dagSpec.nodes.filter(isPassedOver).map(({ nodeId }) => nodeId));
  dagSpec.edges = (dagSpec.edges ?? []).map((edge) =>
    passedOver.has(edge.from) ? { ...edge, property: "true" } : edge,
  );
  dagSpec.nodes = dagSpec.nodes.map((node, place) => convertNode(node, place, notes));
  return { name, dagSpec, notes };
}

/** A workflow whose file is not read. */
export function unreadTisWorkflow(name: string, problem: string): ImportedWorkflow {
  return { name, dagSpec: { nodes: [], edges: [], name }, notes: [{ text: problem, mustChange: true }] };
}

function readSpec(text: string, notes: ImportNote[]): DagSpec {
  try {
    const spec: unknown = isTooDeep(text) ? undefined : JSON.parse(text);
    const problem = spec === undefined ? "is nested too deeply" : formProblem(spec);
    if (problem === undefined) return spec as DagSpec;
    notes.push({ text: `its file ${problem}`, mustChange: true });
  } catch (error) {
    notes.push({ text: `its file cannot be read: ${messageOf(error)}`, mustChange: true });
  }
  return { nodes: [] };
}

/** What keeps a file from being a definition at all; the fields of nodes and edges are checked when it is saved. */
function formProblem(spec: unknown): string | undefined {
  if (!isObject(spec) || !Array.isArray(spec["nodes"])) return "has no nodes";
  if (!spec["nodes"].every(isObject)) return "has nodes that are no objects";
  const edges = spec["edges"] ?? [];
  return Array.isArray(edges) && edges.every(isObject) ? undefined : "has edges that are no objects";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function convertNode(given: NodeSpec, place: number, notes: ImportNote[]): NodeSpec {
  const node = { ...given };
  for (const field of runTimeFields) delete node[field];
  const note = (text: string, field: string): void => {
    const about = node.nodeName === undefined ? {} : { node: node.nodeName };
    notes.push({ ...about, path: ["nodes", place, field], text, mustChange: false });
  };
  if (isPassedOver(node)) {
    note("TIS passes over control nodes: it is a decision that takes all its edges", "nodeParams");
    return { ...node, nodeParams: "true" };
  }
  const isJob = (node.nodeType ?? nodeTypes.job) === nodeTypes.job;
  if (!isJob || node.jobName !== undefined || node.jobId !== undefined || node.nodeName === undefined) return node;
  note(`its job has the name of the node: register a job "${node.nodeName}", or name another`, "jobName");
  return { ...node, jobName: node.nodeName };
}

/** The params of a file may be anything; what is no text is refused when the workflow is saved. */
function isPassedOver({ nodeType, nodeParams: params }: { nodeType?: unknown; nodeParams?: unknown }): boolean {
  if (nodeType !== nodeTypes.decision || (params ?? null) === null) return nodeType === nodeTypes.decision;
  return typeof params === "string" && ["", "{}"].includes(params.trim());
}
