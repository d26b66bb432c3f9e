import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryRow, Store } from "../stores/store.ts";
import { HistoryReader } from "./history-reader.ts";

const rowOf = (instance: number, turn: number): HistoryRow => ({
  instance,
  turn,
  firstEvent: turn,
  at: 0,
  events: "[]",
});

/** A store that notes what it is asked for, and answers when the test lets it. */
class Histories {
  readonly asked: number[][] = [];
  readonly answers: PromiseWithResolvers<HistoryRow[]>[] = [];

  get store(): Store {
    const loadHistory = (instances: readonly number[]): Promise<HistoryRow[]> => {
      this.asked.push([...instances]);
      const answer = Promise.withResolvers<HistoryRow[]>();
      this.answers.push(answer);
      return answer.promise;
    };
    return { loadHistory } as unknown as Store;
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what is asked for in the same breath is one read, and what comes meanwhile the next", async () => {
  const histories = new Histories();
  const reader = new HistoryReader(histories.store);
  const first = [reader.read(1), reader.read(2)];
  await settled();
  const second = [reader.read(3), reader.read(4)];
  await settled();
  assert.deepEqual(histories.asked, [[1, 2]]);
  histories.answers[0]?.resolve([rowOf(2, 0), rowOf(1, 0), rowOf(2, 1)]);
  assert.deepEqual(await Promise.all(first), [[rowOf(1, 0)], [rowOf(2, 0), rowOf(2, 1)]]);
  await settled();
  assert.deepEqual(histories.asked, [
    [1, 2],
    [3, 4],
  ]);
  histories.answers[1]?.resolve([rowOf(3, 0)]);
  assert.deepEqual(await Promise.all(second), [[rowOf(3, 0)], []], "one without history has none");
});

test("not more than 500 at a time", async () => {
  const histories = new Histories();
  const reader = new HistoryReader(histories.store);
  const reads = Array.from({ length: 1201 }, (_, instance) => reader.read(instance));
  for (const answered of [0, 1, 2]) {
    await settled();
    histories.answers[answered]?.resolve([]);
  }
  await Promise.all(reads);
  assert.deepEqual(
    histories.asked.map(({ length }) => length),
    [500, 500, 201],
  );
});

test("a read that fails fails for those who asked, and nobody else", async () => {
  const histories = new Histories();
  const reader = new HistoryReader(histories.store);
  const failing = assert.rejects(reader.read(1), /no disk/);
  await settled();
  const next = reader.read(2);
  histories.answers[0]?.reject(new Error("no disk"));
  await failing;
  await settled();
  histories.answers[1]?.resolve([rowOf(2, 0)]);
  assert.deepEqual(await next, [rowOf(2, 0)]);
});
