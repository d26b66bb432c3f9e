/** Spec §10.7: what jobs log is stored, read and followed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError } from "../../src/base/error.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { utf8Length } from "../../src/base/utf8.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { KeptLogLine, TaskLogLine } from "../../src/telemetry/task-log-line.ts";
import { TaskLogs, type TaskLogsParts } from "../../src/telemetry/task-logs.ts";
import { TestClock } from "../../src/testing.ts";
import { noon } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const dayMs = 24 * 60 * 60 * 1000;

function line(message: string, told: Partial<TaskLogLine> = {}): TaskLogLine {
  const said = {
    attemptId: "order-1:1:0:1",
    namespace: "default",
    instanceId: "order-1",
    workflowName: "orders",
    taskName: "pay",
    attempt: 1,
    at: noon,
  } as const;
  return { ...said, level: "info", message, fields: {}, ...told };
}

/** Real lines in a store in memory, which may be told to fail. */
class LinesStore extends MemoryStore {
  writes = 0;
  problem: Error | undefined;

  override async appendLines(lines: Parameters<MemoryStore["appendLines"]>[0]): Promise<void> {
    this.writes++;
    if (this.problem !== undefined) throw this.problem;
    await super.appendLines(lines);
  }
}

async function rig(told: Partial<TaskLogsParts> = {}) {
  const store = new LinesStore();
  await store.open();
  const clock = new TestClock({ now: noon });
  const logs = new TaskLogs({ store, clock, logger: silentLogger, keepMs: 7 * dayMs, ...told });
  return { store, clock, logs };
}

function messages(lines: readonly KeptLogLine[]): string[] {
  return lines.map(({ message }) => message);
}

describe("task logs", () => {
  test("are written together, soon after they were said", async () => {
    const { store, clock, logs } = await rig({ traceIdOf: () => "0af7651916cd43dd8448eb211c80319c" });
    for (let i = 0; i < 10; i++) logs.add(line(`step ${i}`, { fields: { i } }));
    assert.equal(store.writes, 0);
    await clock.advance(200);
    assert.equal(store.writes, 1);
    const [first] = await logs.read("order-1", { limit: 100 });
    assert.deepEqual(first, {
      number: first?.number,
      at: noon,
      level: "info",
      taskName: "pay",
      attempt: 1,
      message: "step 0",
      fields: { i: 0 },
      traceId: "0af7651916cd43dd8448eb211c80319c",
    });
  });

  test("do not wait for the time when there are many", async () => {
    const { store, clock, logs } = await rig();
    for (let i = 0; i < 1200; i++) logs.add(line(`step ${i}`));
    await clock.settle();
    assert.equal((await store.listLines("log:order-1", { limit: 5000 })).length, 1200);
  });

  test("are read by pages, and by their end", async () => {
    const { logs } = await rig();
    for (let i = 0; i < 10; i++) logs.add(line(`step ${i}`));
    const first = await logs.read("order-1", { limit: 4 });
    assert.deepEqual(messages(first), ["step 0", "step 1", "step 2", "step 3"]);
    const next = await logs.read("order-1", { limit: 2, after: first.at(-1)?.number ?? 0 });
    assert.deepEqual(messages(next), ["step 4", "step 5"]);
    assert.deepEqual(messages(await logs.read("order-1", { limit: 2, last: true })), ["step 8", "step 9"]);
    assert.deepEqual(await logs.read("order-2", { limit: 2 }), []);
  });

  test("keep what cannot be written as JSON readable, and never throw into a job", async () => {
    const { logs } = await rig();
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    logs.add(line("circle", { fields: circle }));
    logs.add(line("big", { fields: { amount: 10n, error: new TypeError("no such thing") } }));
    logs.add(line("lone \ud800 surrogate and \u0000"));
    logs.add({ ...line("x"), message: undefined, fields: "text alone" } as unknown as TaskLogLine);
    const [first, second, third, fourth] = await logs.read("order-1", { limit: 4 });
    assert.match(String(first?.fields["unreadable"]), /circular/i);
    assert.equal(second?.fields["amount"], "10");
    assert.match(JSON.stringify(second?.fields["error"]), /"TypeError","message":"no such thing"/);
    assert.deepEqual([fourth?.message, fourth?.fields], ["text alone", {}]);
    assert.equal(third?.message, "lone \ud800 surrogate and \u0000");
  });

  test("of more than 16 KB are cut, and say so", async () => {
    const { store, logs } = await rig();
    logs.add(line("x".repeat(100_000)));
    logs.add(line("\u0001".repeat(20_000), { fields: { large: "€".repeat(20_000) } }));
    logs.add(line("short", { fields: { large: "y".repeat(20_000) } }));
    await logs.flush();
    const rows = await store.listLines("log:order-1", { limit: 10 });
    for (const { body } of rows) assert.ok(utf8Length(body) <= 16 * 1024, `${utf8Length(body)} bytes`);
    const [message, control, fields] = await logs.read("order-1", { limit: 10 });
    assert.match(message?.message ?? "", /^x{6000,}… \[cut\]$/);
    assert.match(control?.message ?? "", /… \[cut\]$/);
    assert.equal(fields?.message, "short");
    assert.match(String(fields?.fields["cut"]), /^20\d\d\d bytes are more/);
  });

  test("wait while the store is away, and lose nothing", async () => {
    const { store, clock, logs } = await rig();
    store.problem = new EngineError("STORE_UNAVAILABLE", "gone");
    for (let i = 0; i < 2000; i++) logs.add(line(`step ${i}`));
    await clock.advance(500);
    assert.ok(store.writes <= 2, `${store.writes} writes`);
    await clock.advance(5000);
    assert.ok(store.writes <= 8, `${store.writes} writes`);
    store.problem = undefined;
    await clock.advance(1000);
    assert.equal((await logs.read("order-1", { limit: 5000 })).length, 2000);
  });

  test("that the store refuses for what they are do not hold up the others", async () => {
    const logger = new LogBook();
    const { store, logs } = await rig({ logger });
    store.problem = new EngineError("STORE_DATA", "never");
    logs.add(line("bad"));
    await logs.flush();
    store.problem = undefined;
    logs.add(line("good"));
    assert.deepEqual(messages(await logs.read("order-1", { limit: 5 })), ["good"]);
    assert.ok(logger.find("error", /they are lost/));
  });

  test("above the limit are left out, and a line says how many", async () => {
    const logger = new LogBook();
    const { store, clock, logs } = await rig({ logger });
    store.problem = new EngineError("STORE_UNAVAILABLE", "gone");
    for (let i = 0; i < 50_100; i++) logs.add(line("again and again"));
    for (let i = 0; i < 7; i++) logs.add(line("unheard", { instanceId: "order-2" }));
    store.problem = undefined;
    await clock.advance(2000);
    const last = await logs.read("order-1", { limit: 1, last: true });
    assert.match(last[0]?.message ?? "", /^100 lines were left out here/);
    const other = await logs.read("order-2", { limit: 10 });
    assert.deepEqual(messages(other), ["7 lines were left out here: they came faster than the store took them"]);
    assert.equal(logger.lines.filter(({ message }) => /left out/.test(message)).length, 1);
  });

  test("leave the store after their time", async () => {
    const { clock, logs } = await rig();
    logs.start();
    logs.add(line("old"));
    await clock.advance(6 * dayMs);
    logs.add(line("young", { at: clock.now() }));
    assert.equal((await logs.read("order-1", { limit: 10 })).length, 2);
    await clock.advance(2 * dayMs);
    assert.deepEqual(messages(await logs.read("order-1", { limit: 10 })), ["young"]);
    await logs.stop();
    assert.equal(clock.timerCount, 0);
  });
});

describe("somebody who follows", () => {
  test("hears every line once and in order: those that are there, and those to come, also from other members", async () => {
    const { store, clock, logs } = await rig();
    for (let i = 0; i < 1200; i++) logs.add(line(`${i}`));
    await logs.flush();
    const heard: string[] = [];
    const stop = logs.follow("order-1", ({ message }) => heard.push(message));
    await clock.settle();
    assert.equal(heard.length, 1200);
    logs.add(line("1200"));
    logs.add(line("elsewhere", { instanceId: "order-2" }));
    await clock.advance(200);
    await clock.settle();
    assert.equal(heard.length, 1201);
    const body = JSON.stringify({ level: "info", taskName: "pay", attempt: 1, message: "1201", fields: {} });
    await store.appendLines([{ topic: "log:order-1", at: noon, body }]);
    await clock.advance(10_000);
    assert.deepEqual(
      heard,
      Array.from({ length: 1202 }, (_, i) => `${i}`),
    );
    stop();
    logs.add(line("unheard"));
    await clock.advance(2000);
    assert.equal(heard.length, 1202);
    assert.equal(clock.timerCount, 0);
  });

  test("hears lines of other members when they say so, and the others hear of its own", async () => {
    const { store, clock, logs } = await rig();
    const told: string[] = [];
    const followed = new Map<string, () => void>();
    logs.join({
      tell: (id) => told.push(id),
      follow: (id, onNews) => {
        followed.set(id, onNews);
        return () => followed.delete(id);
      },
    });
    const heard: string[] = [];
    const stop = logs.follow("@acme/order-1", ({ message }) => heard.push(message));
    await clock.settle();
    const body = JSON.stringify({ level: "info", taskName: "pay", attempt: 1, message: "theirs", fields: {} });
    await store.appendLines([{ topic: "log:@acme/order-1", at: noon, body }]);
    followed.get("@acme/order-1")?.();
    await clock.settle();
    assert.deepEqual(heard, ["theirs"]);
    for (let i = 0; i < 3; i++) logs.add(line("ours", { namespace: "acme" }));
    await clock.advance(200);
    assert.deepEqual([heard.length, told], [4, ["@acme/order-1"]], "once for each write");
    stop();
    assert.deepEqual([followed.size, clock.timerCount], [0, 0]);
  });

  test("goes on after a number, and after the store was away", async () => {
    const logger = new LogBook();
    const { store, clock, logs } = await rig({ logger });
    for (let i = 0; i < 3; i++) logs.add(line(`${i}`));
    const [, second] = await logs.read("order-1", { limit: 2 });
    const read = store.listLines.bind(store);
    store.listLines = () => Promise.reject(new EngineError("STORE_UNAVAILABLE", "gone"));
    const heard: string[] = [];
    logs.follow("order-1", ({ message }) => heard.push(message), second?.number);
    await clock.settle();
    assert.ok(logger.find("warn", /a task log could not be read/));
    store.listLines = read;
    await clock.advance(1000);
    assert.deepEqual(heard, ["2"]);
    await logs.stop();
    assert.equal(clock.timerCount, 0);
  });
});
