import assert from "node:assert/strict";
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { performance as perfHooks } from "node:perf_hooks";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, mock, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { LogFields, Logger } from "../../src/base/logger.ts";
import { TestClock } from "../../src/testing.ts";
import { ContextPromise } from "../../src/code/context-promise.ts";
import { Interest } from "../../src/code/interest.ts";
import { CodeWatch } from "../../src/code/watch-code.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ignore = (): void => undefined;

/** Keeps its warnings, and looks at the clock for each line, as loggers do. */
class Warnings implements Logger {
  readonly all: (LogFields & { message: string; at: string })[] = [];
  debug = ignore;
  info = ignore;
  error = ignore;

  warn(fields: LogFields, message: string): void {
    this.all.push({ ...fields, message, at: new Date().toISOString() });
  }

  get calls(): unknown[] {
    return this.all.map(({ call }) => call);
  }
}

function started(t: { after(fn: () => void): void }): { watch: CodeWatch; warnings: Warnings } {
  const warnings = new Warnings();
  const watch = new CodeWatch(warnings);
  watch.start();
  t.after(() => watch.stop());
  return { watch, warnings };
}

/** On which line of this file it is called. */
function lineHere(): number {
  return Number(/code-watch\.test\.ts:(\d+)/.exec(new Error().stack?.split("\n")[2] ?? "")?.[1]);
}

describe("a watch over the code of workflows", () => {
  test("notices other ways to the clock, to chance and to files", async (t) => {
    const { watch, warnings } = started(t);
    await watch.within(async () => {
      process.hrtime();
      process.hrtime.bigint();
      crypto.getRandomValues(new Uint8Array(1));
      randomBytes(1);
      randomInt(2);
      perfHooks.now();
      Date();
      await readFile(import.meta.filename);
    });
    assert.deepEqual(warnings.calls, [
      "process.hrtime()",
      "process.hrtime.bigint()",
      "crypto.getRandomValues()",
      "crypto.randomBytes()",
      "crypto.randomInt()",
      "performance.now()",
      "new Date()",
      "readFile()",
    ]);
  });

  test("notices a race of Promise over what ctx.race gives up, and no other", async (t) => {
    const { watch, warnings } = started(t);
    const wait = (): Promise<number> => ContextPromise.of(Promise.resolve(1), new Interest());
    await watch.within(async () => {
      await Promise.race([Promise.resolve(1), Promise.resolve(2)]);
      await Promise.any(new Set([wait()]));
      await Promise.all([wait(), wait()]);
      await Promise.race([wait(), Promise.resolve(1)]);
      await Promise.any([wait().then(() => 2), Promise.resolve(1)]);
    });
    assert.deepEqual(
      warnings.all.map(({ call, instead }) => [call, instead]),
      [
        ["Promise.race()", "ctx.race()"],
        ["Promise.any()", "ctx.any()"],
      ],
    );
    assert.match(
      warnings.all[0]?.message ?? "",
      /goes on waiting for the events and timers that lose.*: use ctx\.race/,
    );
  });

  test("names the call, what to use instead, and the user's function, file and line, once for each line", (t) => {
    const { watch, warnings } = started(t);
    let line = 0;
    function priceOf(): number {
      line = lineHere() + 1;
      return Date.now();
    }
    for (let time = 0; time < 3; time++) watch.within(priceOf);
    const [{ message, at: _at, ...fields } = { message: "", at: "" }, ...others] = warnings.all;
    assert.deepEqual(fields, {
      call: "Date.now()",
      instead: "ctx.now()",
      function: "priceOf",
      file: import.meta.filename,
      line,
    });
    assert.equal(message, "the code of a workflow calls Date.now(), which a replay cannot repeat: use ctx.now()");
    assert.deepEqual(others, []);
  });

  test("knows all of them, and gives what they give", async (t) => {
    const { watch, warnings } = started(t);
    const timers: NodeJS.Timeout[] = [];
    const given: unknown[] = [];
    await watch.within(async () => {
      given.push(Date.now() > 0);
      given.push(new Date().getTime() > 0);
      given.push(typeof Date());
      given.push(performance.now() > 0);
      given.push(Math.random() < 1);
      given.push(crypto.randomUUID().length);
      given.push(randomUUID().length);
      await new Promise<void>((resolve) => void setTimeout(resolve, 1));
      timers.push(setInterval(ignore, 1000));
      await new Promise<void>((resolve) => void setImmediate(resolve));
      given.push(await delay(1, "slept"));
      await fetch("data:text/plain,fetched").then(async (answer) => given.push(await answer.text()));
    });
    for (const timer of timers) clearInterval(timer);
    assert.deepEqual(given, [true, true, "string", true, true, 36, 36, "slept", "fetched"]);
    assert.deepEqual(warnings.calls, [
      "Date.now()",
      "new Date()",
      "new Date()",
      "performance.now()",
      "Math.random()",
      "crypto.randomUUID()",
      "crypto.randomUUID()",
      "setTimeout()",
      "setInterval()",
      "setImmediate()",
      "setTimeout()",
      "fetch()",
    ]);
    assert.ok(warnings.all.every(({ file }) => file === import.meta.filename));
    assert.equal(new Set(warnings.all.map(({ line }) => line)).size, 12);
  });

  test("passes over dates that are made of something, and all that is not a workflow's code", async (t) => {
    const { watch, warnings } = started(t);
    watch.within(() => [new Date(0), new Date("2030-01-01"), Date.UTC(2030), Date.parse("2030-01-01")]);
    Date.now();
    await delay(1);
    assert.deepEqual([Math.random() < 1, new Date().getTime() > 0], [true, true]);
    assert.deepEqual(warnings.all, []);
  });

  test("goes with the code wherever it goes on, and not with whoever settles what it waits for", async (t) => {
    const { watch, warnings } = started(t);
    const go = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    watch.within(() => {
      void go.promise.then(async () => {
        await Promise.resolve();
        Date.now();
        queueMicrotask(() => {
          Math.random();
          end.resolve();
        });
      });
    });
    go.resolve();
    Date.now();
    await end.promise;
    Date.now();
    assert.deepEqual(warnings.calls, ["Date.now()", "Math.random()"]);
  });

  test("leaves out what a workflow's code logs", (t) => {
    const { watch, warnings } = started(t);
    watch.within(() => watch.logger.warn({ call: "mine" }, "half way"));
    assert.deepEqual(warnings.calls, ["mine"]);
  });

  test("names the user's line where a library calls, and none where no line did", async (t) => {
    const { watch, warnings } = started(t);
    const folder = join(temporaryFolder(t), "node_modules");
    mkdirSync(folder);
    writeFileSync(join(folder, "dice.mjs"), "export const roll = () => 1 + Math.floor(6 * Math.random());");
    const { roll } = (await import(pathToFileURL(join(folder, "dice.mjs")).href)) as { roll: () => number };
    const game = (): number => roll() + roll();
    watch.within(game);
    await watch.within(() => Promise.resolve().then(Date.now));
    const [first, second, ...others] = warnings.all;
    assert.deepEqual(
      [first?.["call"], first?.["function"], first?.["file"]],
      ["Math.random()", "game", import.meta.filename],
    );
    assert.deepEqual([second?.["call"], second?.["file"]], ["Date.now()", undefined]);
    assert.deepEqual(others, []);
  });

  test("passes over what the engine does, which is on nobody's line", async (t) => {
    const { watch, warnings } = started(t);
    const clock = new TestClock();
    // Its first step is on this line, and the others are its own.
    await watch.within(() => clock.settle());
    assert.deepEqual(
      warnings.all.map(({ call, file }) => [call, file]),
      [["setImmediate()", import.meta.filename]],
    );
  });

  test("leaves dates what they are", (t) => {
    const before = new Date(0);
    started(t);
    const after = new Date(0);
    assert.ok(before instanceof Date && after instanceof Date);
    assert.equal(before.constructor, Date);
    assert.equal(after.constructor, Date);
    assert.deepEqual(before, after);
    assert.equal(Date.name, "Date");
    assert.equal(Date.length, 7);
    class Later extends Date {}
    assert.ok(new Later(5) instanceof Later && new Later(5) instanceof Date);
    assert.equal(new Later(5).getTime(), 5);
    assert.equal(structuredClone(after).getTime(), 0);
  });
});

describe("several watches in one process", () => {
  const globals = (): unknown[] => [
    Date,
    Date.now,
    Date.prototype.constructor,
    Math.random,
    setTimeout,
    setInterval,
    setImmediate,
    Reflect.get(performance, "now"),
    Reflect.get(crypto, "randomUUID"),
    randomUUID,
    delay,
    fetch,
  ];

  test("tell their own engines, and the last one to stop leaves everything as it was", () => {
    const before = globals();
    const [one, other] = [new Warnings(), new Warnings()];
    const [first, second] = [new CodeWatch(one), new CodeWatch(other)];
    first.start();
    const during = globals();
    assert.ok(during.every((value, place) => value !== before[place]));
    second.start();
    assert.deepEqual(globals(), during);
    first.within(() => Date.now());
    second.within(() => second.within(() => Math.random()));
    first.stop();
    first.stop();
    first.within(() => Date.now());
    second.within(() => Date.now());
    assert.deepEqual([one.calls, other.calls], [["Date.now()"], ["Math.random()", "Date.now()"]]);
    second.stop();
    assert.ok(globals().every((value, place) => value === before[place]));
    second.within(() => Date.now());
    assert.equal(other.all.length, 2);
  });

  test("leave alone what somebody else has put in place of a clock", () => {
    const real = Date.now;
    const watch = new CodeWatch(new Warnings());
    watch.start();
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: 77 });
    watch.stop();
    assert.equal(Date.now(), 77);
    mock.timers.reset();
    assert.ok(Date.now() > 77);
    assert.equal(real, Date.now);
  });
});
