import { createHash, randomUUID } from "node:crypto";
import { EngineError } from "../base/error.ts";
import { checkSpec } from "../kernel/dag/check.ts";
import type { DagSpec, EdgeSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../kernel/node-spec.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import { settleSpelling } from "../kernel/dag/spelling.ts";
import { taskNames } from "../kernel/dag/task-names.ts";
import { copyAsJson } from "../base/json-text.ts";
import { preview } from "../base/preview.ts";
import { type Dependency, Task } from "./task.ts";
import type { NumberedTask, Workflow, WorkflowParts } from "./workflow.ts";

/** The default name: PowerJob and TIS keep a workflow's name outside its file. */
const defaultName = "unnamed";

/** The maximum depth of nested definitions in one file. */
const levelsMax = 100;

interface Loading {
  readonly name?: string | undefined;
  /** Loads the nested workflows that nodes contain as objects. */
  readonly make: (parts: WorkflowParts) => Workflow;
  readonly level?: number;
}

/** Reads a dag-spec, and keeps fields that it does not know. */
export function loadWorkflow(given: unknown, loading: Loading): WorkflowParts {
  const { name, level = 1 } = loading;
  if (level > levelsMax) {
    throw new EngineError("NESTING_TOO_DEEP", `workflows are nested more than ${levelsMax} levels deep`);
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new EngineError(
      "WORKFLOW_INVALID",
      `a workflow is read from an object with nodes and edges, got ${preview(given)}`,
    );
  }
  const spec = copyAsJson(given, "the workflow") as DagSpec & { id?: unknown };
  if (name !== undefined) spec.name = name;
  settleSpelling(spec);
  checkSpec(spec);

  const { nodes, edges, id, ...settings } = spec;
  const workflowName = spec.name ?? defaultName;
  return {
    id: typeof id === "string" ? id : randomUUID(),
    name: workflowName,
    settings: id === undefined ? settings : { id: id as string, ...settings },
    tasks: loadTasks(nodes, edges ?? [], { ...loading, level, name: workflowName }),
    edges: edges ?? [],
  };
}

function loadTasks(nodes: readonly NodeSpec[], edges: readonly EdgeSpec[], loading: Required<Loading>): NumberedTask[] {
  const { name: workflowName = defaultName, level, make } = loading;
  const names = nameTasks(nodes);
  const dependencies = namedDependencies(edges, names);
  const ids = new Set<string>();
  return nodes.map(({ nodeId, ...given }) => {
    const { node, workflow } = separateNested(given);
    const id = node.taskId ?? derivedUuid(`${workflowName}\n${nodeId}`);
    if (ids.has(id)) {
      const problem = `two nodes have the taskId ${preview(id)}`;
      throw new EngineError("WORKFLOW_INVALID", `workflow ${preview(workflowName)}: ${problem}`);
    }
    ids.add(id);
    const nested = workflow && make(loadWorkflow(workflow, { name: node.workflowName, make, level: level + 1 }));
    const task = new Task({
      id,
      name: names.get(nodeId) ?? "",
      node,
      dependencies: dependencies.get(nodeId) ?? [],
      nestedWorkflow: nested,
    });
    return { nodeId, task };
  });
}

type NodeParts = Omit<NodeSpec, "nodeId">;

/** Leaves a field of that name alone if it means something else. */
function separateNested(given: NodeParts): { node: NodeParts; workflow?: object } {
  const { workflow, ...node } = given;
  const isNested = given.nodeType === nodeTypes.nested && typeof workflow === "object" && workflow !== null;
  return isNested ? { node, workflow } : { node: given };
}

function nameTasks(nodes: readonly NodeSpec[]): Map<NodeId, string> {
  const names = taskNames(nodes);
  return new Map(nodes.map(({ nodeId }, place) => [nodeId, names[place] as string]));
}

function namedDependencies(edges: readonly EdgeSpec[], names: ReadonlyMap<NodeId, string>): Map<NodeId, Dependency[]> {
  const dependencies = new Map<NodeId, Dependency[]>();
  for (const { from, to, property, enable } of edges) {
    const name = names.get(from);
    if (name === undefined || enable === false) continue;
    const dependency = typeof property === "string" ? { name, when: property } : { name };
    const known = dependencies.get(to);
    if (known === undefined) dependencies.set(to, [dependency]);
    else known.push(dependency);
  }
  return dependencies;
}

/** Derives a UUID (version 8) from text, so that a node without an id gets the same one each time its file is read. */
function derivedUuid(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}
