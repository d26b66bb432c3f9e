import { assert } from "../base/assert.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Definitions } from "../runtime/definitions.ts";
import { machineOf } from "../runtime/machine-of.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import type { Store } from "../stores/store.ts";

const turnsPerPage = 200;

export interface HistorySource {
  readonly store: Pick<Store, "listHistory">;
  readonly definitions: Pick<Definitions, "load">;
}

/** An instance as its history tells it, up to the last turn that was read. */
export interface FoldedHistory {
  readonly machine: Machine;
  readonly turn: number;
}

/**
 * Folds the history of an instance. `onTurn` gets each turn with the machine as it was right after it. Undefined if
 * there is no history. `WORKFLOW_UNKNOWN`, and the errors of the store.
 */
export async function foldHistory(
  { store, definitions }: HistorySource,
  { id, key }: { readonly id: string; readonly key: number },
  onTurn: (turn: CommittedTurn) => void,
): Promise<FoldedHistory | undefined> {
  let machine: Machine | undefined;
  let workflow = "";
  for (let afterTurn = -1; ;) {
    const page = await store.listHistory(key, { afterTurn, limit: turnsPerPage });
    for (const { turn, at, firstEvent, events: text } of page) {
      const events = parseEvents(text, `turn ${turn} of instance "${id}"`);
      if (machine === undefined) {
        const [first] = events;
        assert(
          first?.type === "InstanceCreated" || first?.type === "InstanceContinued",
          "a history begins with the creation of its instance, or with its new beginning",
        );
        ({ workflow } = first);
        machine = machineOf((await definitions.load(workflow, first.version)).spec, { id, key });
      }
      for (const event of events) machine.apply(event, at);
      onTurn({ instanceId: id, workflow, turn, firstEvent, at, events, machine });
      afterTurn = turn;
    }
    if (page.length < turnsPerPage) return machine && { machine, turn: afterTurn };
  }
}
