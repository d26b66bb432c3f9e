import { EngineError } from "../base/error.ts";
import { CodeMachine } from "../kernel/code/code-machine.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import type { Event } from "../kernel/event.ts";
import { defaultLimits, type Machine } from "../kernel/machine.ts";
import type { CodeSpec } from "../runtime/definitions.ts";
import { finishedRow } from "../runtime/turn-rows.ts";
import type { FinishedRow, InstanceSummary, Store } from "../stores/store.ts";

const turnsPerPage = 200;

/**
 * The whole row of a finished instance that a list has shown. The store finds the newest of an id; of an earlier one,
 * whose id was used again, the row is what its history makes of it.
 */
export async function readFinished(store: Store, summary: InstanceSummary): Promise<FinishedRow> {
  const newest = await store.findFinished(summary.id);
  return newest?.key === summary.key ? newest : await fold(store, summary);
}

async function fold(store: Store, { id, key, workflow, version }: InstanceSummary): Promise<FinishedRow> {
  const definition = await store.findDefinition(workflow, version);
  if (definition === undefined) {
    throw new EngineError(
      "STORE_DATA",
      `instance "${id}" cannot be exported, because workflow "${workflow}" has no version ${version} in the store and the id was used again; purge it first`,
    );
  }
  const spec = JSON.parse(definition.spec) as DagSpec | CodeSpec;
  const machine: Machine =
    "code" in spec
      ? new CodeMachine({ id, key, limits: defaultLimits, timeoutMs: undefined })
      : new DagMachine(new Graph(spec), id, key, defaultLimits);
  for (let afterTurn = -1; ;) {
    const page = await store.listHistory(key, { afterTurn, limit: turnsPerPage });
    for (const { events, at } of page) for (const event of JSON.parse(events) as Event[]) machine.apply(event, at);
    const last = page.at(-1);
    if (last === undefined) return finishedRow(machine);
    afterTurn = last.turn;
  }
}
