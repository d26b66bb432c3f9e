import { DagMachine } from "../../../src/kernel/dag/dag-machine.ts";
import { Graph } from "../../../src/kernel/dag/graph.ts";
import { CodeMachine } from "../../../src/kernel/code/code-machine.ts";
import type { DagSpec } from "../../../src/kernel/dag/dag-spec.ts";
import { defaultLimits, type Machine } from "../../../src/kernel/machine.ts";
import type { CodeSpec } from "../../../src/runtime/definitions.ts";
import { definitionKey, type FinalState } from "../evidence.ts";

const graphs = new WeakMap<DagSpec, Graph>();

/** Replays with the kernel's own fold. Undefined if the definition is missing. */
export function newMachine(
  finalState: FinalState,
  { id, key, workflow, version }: { id: string; key: number; workflow: string; version: string },
): Machine | undefined {
  const spec = finalState.definitions.get(definitionKey(workflow, version));
  return spec && machineOf(spec, id, key);
}

export function isOfCode(
  finalState: FinalState,
  { workflow, version }: { workflow: string; version: string },
): boolean {
  const spec = finalState.definitions.get(definitionKey(workflow, version));
  return spec !== undefined && "code" in spec;
}

export function machineOf(spec: DagSpec | CodeSpec, id: string, key: number): Machine {
  if ("code" in spec) return new CodeMachine({ id, key, limits: defaultLimits, timeoutMs: undefined });
  let graph = graphs.get(spec);
  if (graph === undefined) graphs.set(spec, (graph = new Graph(spec)));
  return new DagMachine(graph, id, key, defaultLimits);
}
