import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { Output } from "./output.ts";
import { displayFor } from "./progress-display.ts";
import type { NodeRow } from "./progress.ts";

function row(label: string, status: string, more: Partial<NodeRow> = {}): NodeRow {
  const nothing = { attempt: 1, startedAt: undefined, endedAt: undefined, retryAt: undefined, error: undefined };
  return { ...nothing, progress: undefined, label, status, ...more };
}

/** What a terminal of that size is given. */
function terminal(
  t: TestContext,
  size: { columns?: number; rows?: number; isTTY?: boolean },
): { written: string[]; output: Output } {
  const written: string[] = [];
  for (const [key, value] of Object.entries({ isTTY: true, ...size })) {
    const before = Object.getOwnPropertyDescriptor(process.stdout, key);
    Object.defineProperty(process.stdout, key, { value, configurable: true });
    t.after(() => {
      if (before === undefined) Reflect.deleteProperty(process.stdout, key);
      else Object.defineProperty(process.stdout, key, before);
    });
  }
  t.mock.method(process.stdout, "write", (text: string) => written.push(text) > 0);
  return { written, output: new Output({}) };
}

describe("the display of a run", () => {
  test("is redrawn in place on a terminal", (t) => {
    const { written, output } = terminal(t, { columns: 80, rows: 24 });
    const display = displayFor(output);
    const rows = [row("first", "Success", { startedAt: 0, endedAt: 1500 }), row("second", "Pending")];
    display.show(rows);
    display.close([rows[0]!, row("second", "Failed", { startedAt: 0, endedAt: 200, error: "no luck", attempt: 2 })]);
    t.mock.restoreAll();
    const [first = "", last = ""] = written;
    assert.ok(first.startsWith("\r\u001B[J"), "everything anew");
    assert.match(stripVTControlCharacters(first), /✔ first +Success, 1\.5 s\n· second +Pending\n$/);
    assert.ok(last.startsWith("\u001B[2A\r\u001B[J"), "from two lines above");
    assert.match(stripVTControlCharacters(last), /✖ second +Failed, 0\.2 s, attempt 2, no luck\n$/);
  });

  test("shows what happens now if there is not room for all", (t) => {
    const { written, output } = terminal(t, { columns: 30, rows: 6 });
    const many = Array.from({ length: 10 }, (_, at) => row(`task-${at}`, "Success"));
    displayFor(output).show([...many, row("now", "Running"), row("bad".repeat(20), "Failed")]);
    t.mock.restoreAll();
    const lines = written.join("").trim().split("\n");
    assert.equal(lines.length, 4);
    assert.match(lines.join("\n"), /task-0[^]*now[^]*badbad.*…[^]*and 9 more/);
  });

  test("names the tasks on a terminal that does not know its size", (t) => {
    const { written, output } = terminal(t, { columns: 0, rows: 0 });
    displayFor(output).show(Array.from({ length: 5 }, (_, at) => row(`task-${at}`, "Pending")));
    t.mock.restoreAll();
    assert.match(written.join(""), /task-0[^]*task-4/);
  });

  test("is silent for programs, and a line for each change elsewhere", (t) => {
    const { written, output: plain } = terminal(t, { isTTY: false });
    displayFor(new Output({ json: true })).onChange(row("a", "Running"));
    displayFor(plain).onChange(row("a", "Pending"));
    displayFor(plain).onChange(row("b", "Pending", { retryAt: 1, error: "no luck" }));
    t.mock.restoreAll();
    assert.equal(written.length, 1);
    assert.match(written[0] ?? "", / b Pending, waits for its next attempt, after: no luck\n$/);
  });
});
