import { CodeMachine } from "../kernel/code/code-machine.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import { defaultLimits, type Machine } from "../kernel/machine.ts";
import type { CodeSpec } from "./definitions.ts";

/** Makes the machine of an instance that is folded from its history and does not go on. */
export function machineOf(
  spec: DagSpec | CodeSpec,
  { id, key }: { readonly id: string; readonly key: number },
): Machine {
  return "code" in spec
    ? new CodeMachine({ id, key, limits: defaultLimits, timeoutMs: undefined })
    : new DagMachine(new Graph(spec), id, key, defaultLimits);
}
