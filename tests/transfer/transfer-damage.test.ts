/** Exports that are not whole, or not as they were written: refused, with nothing left behind. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import * as fc from "fast-check";
import { hasCode } from "../../src/base/error.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { importInstances } from "../../src/transfer.ts";
import { contents, fill } from "./random-contents.ts";
import { linesOf, told } from "./transfer-rig.ts";

async function memory(): Promise<Store> {
  const store = new MemoryStore({ delay: () => Promise.resolve() });
  await store.open();
  return store;
}

async function refusal(store: Store, lines: readonly string[]): Promise<string> {
  const error = await importInstances(store, lines, { shards: 2 }).then(
    () => assert.fail("it was taken"),
    (reason: unknown) => reason,
  );
  assert.ok(hasCode(error, "OPTION_INVALID"), String(error));
  return error.message;
}

describe("an export", () => {
  let lines: string[] = [];

  before(async () => {
    const store = await memory();
    const [drawn] = fc.sample(
      contents.filter(({ instances, messages }) => instances.length > 6 && messages.length > 4),
      {
        numRuns: 1,
        seed: 7,
      },
    );
    assert.ok(drawn !== undefined);
    await fill(store, 3, drawn);
    lines = await linesOf(store);
    assert.ok(lines.length > 20);
  });

  test("that was altered anywhere is refused, and leaves an empty store behind", async () => {
    const target = await memory();
    const where = fc.record({ line: fc.nat(), place: fc.nat(), unit: fc.constantFrom("0", "1", "x", '"', "}", "") });
    await fc.assert(
      fc.asyncProperty(where, async ({ line, place, unit }) => {
        const number = line % lines.length;
        const text = lines[number] as string;
        const at = place % (text.length - 1);
        const altered = text.slice(0, at) + unit + text.slice(at + 1);
        fc.pre(altered !== text);
        assert.match(await refusal(target, lines.with(number, altered)), /line \d+/);
        assert.deepEqual(await target.listInstances({ limit: 1 }), []);
        assert.deepEqual(await target.loadOutbox([0, 1]), []);
        assert.deepEqual([...(await target.loadJobs()), ...(await target.loadDomains())], []);
      }),
      { numRuns: 300 },
    );
    assert.equal(await target.findLatestDefinition("inner"), undefined);
    await importInstances(target, lines);
    assert.deepEqual(told(await linesOf(target)), told(lines));
  });

  test("whose last line has another name for what it counts is refused", async () => {
    const target = await memory();
    const last = lines.at(-1) as string;
    for (const kind of ["jobs", "documents", "messages"]) {
      const altered = last.replace(`"${kind}"`, `"0${kind.slice(1)}"`);
      if (altered !== last) assert.match(await refusal(target, lines.with(lines.length - 1, altered)), /line \d+/);
    }
    assert.deepEqual(await target.listInstances({ limit: 1 }), []);
  });

  test("that lacks a line, has one twice, or two in the wrong order is refused", async () => {
    const target = await memory();
    for (let number = 0; number < lines.length; number++) {
      await refusal(target, lines.toSpliced(number, 1));
      await refusal(target, lines.toSpliced(number, 0, lines[number] as string));
      if (number > 0)
        await refusal(target, lines.toSpliced(number - 1, 2, lines[number] as string, lines[number - 1] as string));
    }
    assert.deepEqual(await target.listInstances({ limit: 1 }), []);
  });

  test("that stops early is refused with the line it stops after", async () => {
    const target = await memory();
    for (let count = 1; count < lines.length; count++) {
      const message = await refusal(target, lines.slice(0, count));
      assert.match(message, new RegExp(`stops after line ${count}, without its last line`));
    }
    const half = lines[9] as string;
    assert.match(
      await refusal(target, [...lines.slice(0, 9), half.slice(0, 30)]),
      /line 10 is not a complete line of JSON/,
    );
    assert.match(await refusal(target, []), /stops after line 0/);
  });

  test("says which instance was altered, and in which lines", async () => {
    const target = await memory();
    const number = lines.findIndex((line) => line.startsWith('{"kind":"history"'));
    const altered = (lines[number] as string).replace('\\"type\\"', '\\"tyqe\\"');
    const message = await refusal(target, lines.with(number, altered));
    assert.match(message, new RegExp(`instance ".*" is not as it was exported: lines ${number} to \\d+ were altered`));
  });

  test("of another program, version or form is refused", async () => {
    const target = await memory();
    const header = lines[0] as string;
    const rest = lines.slice(1);
    assert.match(await refusal(target, ["hello"]), /line 1 is not a complete line of JSON/);
    assert.match(await refusal(target, ["{}"]), /line 1 does not say that this is a heddle-export/);
    assert.match(await refusal(target, [header.replace('"version":2', '"version":3'), ...rest]), /format version 3/);
    assert.match(await refusal(target, [header, '{"kind":"other","rows":[]}']), /line 2 has an unknown kind/);
    assert.match(await refusal(target, [header, '{"kind":"jobs","rows":[{"id":1}]}']), /field "id" is not text/);
    assert.match(
      await refusal(target, [header, '{"kind":"domains","rows":[{"name":"a","size":1,"more":2}]}']),
      /"more"/,
    );
    assert.match(await refusal(target, [lines.join("")]), /several lines, which must be given one by one/);
    assert.match(await refusal(target, [...lines, header]), /comes after its end/);
  });

  test("may come with line breaks of any kind, or without", async () => {
    const target = await memory();
    await importInstances(
      target,
      lines.map((line) => line.replace("\n", "\r\n")),
    );
    const other = new SqliteStore({ file: ":memory:" });
    await other.open();
    await importInstances(
      other,
      lines.map((line) => line.trimEnd()),
    );
    assert.deepEqual(told(await linesOf(other)), told(await linesOf(target)));
    await other.close();
  });
});
