import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { foldHistory } from "./folded-history.ts";
import { StoredHistory } from "./stored-history.rig.ts";

describe("a folded history", () => {
  for (const turns of [1, 2, 199, 200, 201, 400]) {
    test(`of ${turns} turns has each of them once, with the state right after it`, async () => {
      const heard: string[] = [];
      const { source } = new StoredHistory(turns);
      const folded = await foldHistory(source, { id: "i", key: 1 }, ({ turn, instanceId, workflow, machine }) => {
        heard.push(`${instanceId} ${workflow} ${turn} ${machine.state.status}`);
      });
      const expected = Array.from({ length: turns }, (_, n) => `i w ${n} ${n % 2 === 1 ? "Paused" : "Running"}`);
      assert.deepEqual(heard, expected);
      assert.equal(folded?.turn, turns - 1);
      assert.equal(folded.machine.state.createdAt, 1000);
    });
  }

  test("of no turns is none", async () => {
    const folded = await foldHistory(new StoredHistory(0).source, { id: "i", key: 1 }, () => assert.fail());
    assert.equal(folded, undefined);
  });

  test("fails as the store does", async () => {
    const history = new StoredHistory(1);
    history.fault = new Error("the store is away");
    await assert.rejects(
      foldHistory(history.source, { id: "i", key: 1 }, () => undefined),
      /away/,
    );
  });
});
