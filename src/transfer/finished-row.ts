import { EngineError } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { CodeSpec } from "../runtime/definitions.ts";
import { machineOf } from "../runtime/machine-of.ts";
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
  const machine = machineOf(spec, { id, key });
  for (let afterTurn = -1; ;) {
    const page = await store.listHistory(key, { afterTurn, limit: turnsPerPage });
    for (const { turn, events, at } of page) {
      for (const event of parseEvents(events, `turn ${turn} of instance "${id}"`)) machine.apply(event, at);
    }
    const last = page.at(-1);
    if (last === undefined) return finishedRow(machine, null);
    afterTurn = last.turn;
  }
}
