import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { taskRow } from "./rows.ts";

export function tasksSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: tasks`, () => {
    test("each attempt has its row, ordered by task and attempt", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const rows = [
        taskRow({ instance: 1, task: 1, attempt: 2, retryCount: 1 }),
        taskRow({ instance: 1, task: 0 }),
        taskRow({ instance: 1, task: 1, attempt: 1, status: "Failed", error: '{"type":"Error"}', endedAt: 1_500 }),
      ];
      await owner.commit({ tasks: [...rows, taskRow({ instance: 2, task: 0 })] });
      assert.deepEqual(await store.loadTasks(1), [rows[1], rows[2], rows[0]]);
      assert.deepEqual(await store.loadTasks(3), []);
    });

    test("the last change of an attempt stands, with every field", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ tasks: [taskRow({ instance: 1, task: 0 })] });
      const ended = taskRow({
        instance: 1,
        task: 0,
        name: "renamed",
        type: 3,
        status: "TimeoutFailed",
        worker: null,
        startedAt: null,
        endedAt: 9_000,
        retryCount: 4,
        error: "{}",
      });
      await owner.commit({ tasks: [ended] });
      assert.deepEqual(await store.loadTasks(1), [ended]);
    });
  });
}
