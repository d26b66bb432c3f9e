import { DagMachine } from "../../../src/kernel/dag/dag-machine.ts";
import { Graph } from "../../../src/kernel/dag/graph.ts";
import type { DagSpec } from "../../../src/kernel/dag/dag-spec.ts";
import { defaultLimits } from "../../../src/kernel/machine.ts";
import { definitionKey, type Remains } from "../evidence.ts";

const graphs = new WeakMap<DagSpec, Graph>();

/** The kernel's own fold, from nothing. Undefined where the definition is lost. */
export function newMachine(
  remains: Remains,
  { id, key, workflow, version }: { id: string; key: number; workflow: string; version: string },
): DagMachine | undefined {
  const spec = remains.definitions.get(definitionKey(workflow, version));
  if (spec === undefined) return undefined;
  let graph = graphs.get(spec);
  if (graph === undefined) graphs.set(spec, (graph = new Graph(spec)));
  return new DagMachine(graph, id, key, defaultLimits);
}
