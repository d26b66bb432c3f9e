import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import { parseStored } from "../base/stored-json.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import type { Store } from "../stores/store.ts";
import { AttemptFold, type TaskAttempt } from "../views/attempt-view.ts";
import type { CodeSpec } from "./definitions.ts";
import { machineOf } from "./machine-of.ts";

const turnsPerPage = 200;

/** The instance whose attempts are read. */
interface Identity {
  readonly id: string;
  readonly key: number;
}

/** Folds the attempts of an instance's tasks from its history, by task, generation and attempt. `WORKFLOW_UNKNOWN`. */
export async function readTaskAttempts(store: Store, instance: Identity): Promise<TaskAttempt[]> {
  let fold: AttemptFold | undefined;
  for (let afterTurn = -1; ;) {
    const page = await store.listHistory(instance.key, { afterTurn, limit: turnsPerPage });
    for (const { turn, at, events } of page) {
      const decided = parseEvents(events, `turn ${turn} of instance "${instance.id}"`);
      fold ??= await newFold(store, instance, decided);
      fold.applyTurn(decided, at);
    }
    const last = page.at(-1);
    if (last === undefined) return fold?.list() ?? [];
    afterTurn = last.turn;
  }
}

/** The first event of a history names the definition. */
async function newFold(store: Store, instance: Identity, [first]: readonly Event[]): Promise<AttemptFold> {
  assert(
    first?.type === "InstanceCreated" || first?.type === "InstanceContinued",
    "a history begins with the creation of its instance, or with its new beginning",
  );
  const { workflow, version } = first;
  const row = await store.findDefinition(workflow, version);
  if (row === undefined) {
    throw new EngineError("WORKFLOW_UNKNOWN", `workflow "${workflow}" has no version ${version} in the store`);
  }
  const spec = parseStored(row.spec, `the definition of workflow "${workflow}"`) as DagSpec | CodeSpec;
  return new AttemptFold(machineOf(spec, instance));
}
