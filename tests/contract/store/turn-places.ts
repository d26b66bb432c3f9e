import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Changes, HistoryRow, Store, TurnText } from "../../../src/stores/store.ts";
import { appendTurn, turnsIn } from "../../../src/stores/turn-text.ts";
import { fresh, freshUsers, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { finishedRow, historyRow, instanceRow, textOf } from "./rows.ts";

/** Places of the turns of an instance: in rows of their own, or in the row of the instance, finished or not. */
export function turnPlacesSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: turns in the row of their instance`, () => {
    test("are read as those in rows are, by instance and turn", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({
        instances: [instanceRow({ key: 3, history: textOf(3, [0, 1]) }), instanceRow({ key: 1 })],
        finished: [finishedRow({ key: 2, history: textOf(2, [4, 5, 6]) }), finishedRow({ key: 4 })],
        history: [historyRow({ instance: 1, turn: 0 }), historyRow({ instance: 4, turn: 0 })],
      });
      const expected = [...turns(1, [0]), ...turns(2, [4, 5, 6]), ...turns(3, [0, 1]), ...turns(4, [0])];
      assert.deepEqual(await store.loadHistory([4, 3, 2, 1, 9]), expected);
      assert.deepEqual(await store.loadHistory([2]), turns(2, [4, 5, 6]));
    });

    test("come with the row, and a list does without them", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const unfinished = instanceRow({ key: 1, history: textOf(1, [0]) });
      const finished = finishedRow({ key: 2, history: textOf(2, [0, 1]) });
      await owner.commit({ instances: [unfinished], finished: [finished] });
      assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 10 }), [unfinished]);
      assert.deepEqual(await store.findFinished("instance-2"), finished);
      for (const row of await store.listInstances({ limit: 10 })) assert.ok(!("history" in row));
    });

    test("come a page at a time", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({
        instances: [instanceRow({ key: 1, history: textOf(1, [0, 1, 2]) })],
        finished: [finishedRow({ key: 2, history: textOf(2, [0, 1, 2]) })],
      });
      for (const key of [1, 2]) {
        assert.deepEqual(await store.listHistory(key, { afterTurn: -1, limit: 2 }), turns(key, [0, 1]));
        assert.deepEqual(await store.listHistory(key, { afterTurn: 1, limit: 2 }), turns(key, [2]));
        assert.deepEqual(await store.listHistory(key, { afterTurn: 2, limit: 2 }), []);
      }
    });

    test("are replaced and deleted with the row", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ instances: [instanceRow({ key: 1, history: textOf(1, [0]) })] });
      await owner.commit({ instances: [instanceRow({ key: 1, history: textOf(1, [0, 1]) })] });
      assert.deepEqual(await store.loadHistory([1]), turns(1, [0, 1]));
      await owner.commit({ instancesEnded: [1], finished: [finishedRow({ key: 1, history: textOf(1, [0, 1, 2]) })] });
      assert.deepEqual(await store.loadHistory([1]), turns(1, [0, 1, 2]));
      await owner.commit({
        finishedReopened: [1],
        instances: [instanceRow({ key: 1 })],
        history: turns(1, [0, 1, 2, 3]),
      });
      assert.deepEqual(await store.loadHistory([1]), turns(1, [0, 1, 2, 3]));
    });

    test("move ten thousand times beside readers, and none is ever missing from a list or a history", async (t) => {
      const [store, ...readers] = await freshUsers(t, makeStore, 3);
      const owner = await Owner.claim(store);
      const movers = Array.from({ length: 100 }, (_, place) => new Mover(place + 1));
      const run = { isOver: false };
      await owner.commit(joined(movers));
      const reading = readers.map((reader) => readUntilOver(reader, movers, run));
      for (let round = 0; round < 100; round++) {
        await owner.commit(joined(movers));
        for (const mover of movers) mover.acknowledge();
        await setImmediate();
      }
      run.isOver = true;
      const looks = await Promise.all(reading);
      t.diagnostic(`${looks.join(" and ")} looks beside 10,000 moves`);
      assert.ok(Math.min(...looks) > 0);
    });
  });
}

function turns(instance: number, numbers: readonly number[]): HistoryRow[] {
  return numbers.map((turn) => historyRow({ instance, turn }));
}

/** One batch in which every instance moves on. */
function joined(movers: readonly Mover[]): Partial<Changes> {
  const all = movers.map((mover) => mover.step());
  return {
    trims: all.flatMap(({ trims = [] }) => trims),
    instances: all.flatMap(({ instances = [] }) => instances),
    instancesEnded: all.flatMap(({ instancesEnded = [] }) => instancesEnded),
    finished: all.flatMap(({ finished = [] }) => finished),
    finishedReopened: all.flatMap(({ finishedReopened = [] }) => finishedReopened),
    history: all.flatMap(({ history = [] }) => history),
  };
}

/** Reads lists and histories, and compares each with what was durable before the look. Returns the number of looks. */
async function readUntilOver(store: Store, movers: readonly Mover[], run: { isOver: boolean }): Promise<number> {
  const keys = movers.map(({ key }) => key);
  let looks = 0;
  // An embedded store answers at once, so writer and readers let each other have their turns.
  for (; !run.isOver; looks++, await setImmediate()) {
    const listed = (await store.listInstances({ limit: 1000 })).map(({ key }) => key);
    assert.deepEqual(
      listed.sort((a, b) => a - b),
      keys,
    );
    const durable = movers.map(({ acknowledged }) => acknowledged);
    const found = Map.groupBy(await store.loadHistory(keys), ({ instance }) => instance);
    for (const [place, key] of keys.entries()) assertWhole(found.get(key), durable[place]);
    const [some] = movers.slice(looks % movers.length);
    if (some === undefined) continue;
    const before = some.acknowledged;
    assertWhole(await store.listHistory(some.key, { afterTurn: -1, limit: 1000 }), before);
  }
  return looks;
}

/** A history has no gap and no turn twice, and ends no earlier than with the turn that was durable before. */
function assertWhole(history: readonly HistoryRow[] | undefined, durable: number | undefined): void {
  const numbers = history?.map(({ turn }) => turn) ?? [];
  const first = numbers[0] ?? -1;
  assert.deepEqual(
    numbers,
    numbers.map((_, place) => first + place),
  );
  assert.ok((numbers.at(-1) ?? -1) >= (durable ?? 0), `${numbers.join()} lacks turn ${durable}`);
}

/**
 * An instance that goes through all places again and again: it ends and is reopened with its turns in its row, rests and
 * ends with its turns in rows, and begins anew.
 */
class Mover {
  readonly key: number;
  /** The last turn that is known to be durable. */
  acknowledged = 0;
  #turn = -1;
  #text: TurnText | null = null;

  constructor(key: number) {
    this.key = key;
  }

  acknowledge(): void {
    this.acknowledged = this.#turn;
  }

  step(): Partial<Changes> {
    const { key } = this;
    const row = historyRow({ instance: key, turn: ++this.#turn });
    const before = this.#text;
    switch (this.#turn % 6) {
      case 0:
        this.#text = appendTurn(null, row);
        return {
          trims: [{ instance: key, turn: row.turn, ref: 0 }],
          instances: [instanceRow({ key, history: this.#text })],
          finishedReopened: [key],
        };
      case 1:
      case 3:
        this.#text = appendTurn(before, row);
        return { instancesEnded: [key], finished: [finishedRow({ key, history: this.#text })] };
      case 2:
        this.#text = appendTurn(before, row);
        return { finishedReopened: [key], instances: [instanceRow({ key, history: this.#text })] };
      case 4:
        this.#text = null;
        return {
          finishedReopened: [key],
          instances: [instanceRow({ key })],
          history: [...(before === null ? [] : turnsIn(before, key)), row],
        };
      default:
        return { instancesEnded: [key], finished: [finishedRow({ key })], history: [row] };
    }
  }
}
