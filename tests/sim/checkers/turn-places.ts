import type { Changes, FinishedRow, HistoryRow, InstanceRow } from "../../../src/stores/store.ts";
import { turnsIn, turnTextMax } from "../../../src/stores/turn-text.ts";
import { NewTurns } from "../../../src/stores/batch-turns.rig.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";

/**
 * After every commit each turn of an instance is in one place and as it was first written: in a row of its own, or in the
 * row of its instance. Only small histories of instances that are active, quarantined or finished are in that row.
 */
export const checkTurnPlaces: Checker = (evidence) => {
  const places = new Places();
  for (const { batch } of commitHistoryOf(evidence).landings) places.apply(batch.changes);
  return places.wrong;
};

/** The tables that hold turns, as the commits leave them. */
class Places {
  readonly wrong: string[] = [];
  readonly #instances = new Map<number, InstanceRow>();
  readonly #finished = new Map<number, FinishedRow>();
  readonly #rows = new Map<number, HistoryRow[]>();
  /** The turns of each instance as they were first written, since its last beginning. */
  readonly #written = new Map<number, HistoryRow[]>();
  readonly #newTurns = new NewTurns();

  apply(changes: Changes): void {
    const { purged, trims, instances, instancesEnded, finished, finishedReopened, history } = changes;
    for (const key of purged) this.#purge(key);
    for (const { instance, turn } of trims) {
      for (const table of [this.#rows, this.#written]) {
        table.set(
          instance,
          (table.get(instance) ?? []).filter((row) => row.turn >= turn),
        );
      }
    }
    for (const row of instances) this.#instances.set(row.key, row);
    for (const key of instancesEnded) this.#instances.delete(key);
    for (const row of finished) this.#finished.set(row.key, row);
    for (const key of finishedReopened) this.#finished.delete(key);
    for (const row of history) add(this.#rows, row);
    for (const row of this.#newTurns.in(changes)) add(this.#written, row);
    const touched = [...instances, ...finished].map(({ key }) => key);
    for (const key of new Set([...touched, ...history.map(({ instance }) => instance)])) this.#check(key);
    for (const row of instances) this.#checkRow(row);
  }

  #purge(key: number): void {
    for (const table of [this.#instances, this.#finished, this.#rows, this.#written]) table.delete(key);
  }

  #check(key: number): void {
    const texts = [this.#instances.get(key)?.history, this.#finished.get(key)?.history];
    const inTexts = texts.flatMap((text) => (typeof text === "string" ? turnsIn(text, key) : []));
    const found = [...(this.#rows.get(key) ?? []), ...inTexts].sort((a, b) => a.turn - b.turn);
    const written = this.#written.get(key) ?? [];
    if (JSON.stringify(found) === JSON.stringify(written)) return;
    this.wrong.push(
      `instance ${key} has the turns ${numbersOf(found)} on disk, and ${numbersOf(written)} were written`,
    );
  }

  #checkRow({ key, history, active, quarantined }: InstanceRow): void {
    if (history === null) return;
    if (!active && quarantined === null) this.wrong.push(`instance ${key} is at rest, and its turns are in its row`);
    if (history.length > turnTextMax + 100)
      this.wrong.push(`instance ${key} has ${history.length} characters in its row`);
  }
}

function add(table: Map<number, HistoryRow[]>, row: HistoryRow): void {
  const rows = table.get(row.instance);
  if (rows === undefined) table.set(row.instance, [row]);
  else rows.push(row);
}

function numbersOf(turns: readonly HistoryRow[]): string {
  return turns.length === 0 ? "none" : turns.map(({ turn }) => turn).join(", ");
}
