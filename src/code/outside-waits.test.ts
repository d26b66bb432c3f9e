import assert from "node:assert/strict";
import { pbkdf2 } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { MessageChannel } from "node:worker_threads";
import { hasCode } from "../base/error.ts";
import type { Step } from "../kernel/code/step.ts";
import { drained, inWords, RunRig } from "./code-run.rig.ts";

const notDurable = (error: unknown): boolean => hasCode(error, "WORKFLOW_NOT_DURABLE");

/** Where nobody listens. */
const closedPort = await new Promise<number>((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    server.close(() => resolve(port));
  });
});

/** What code may await outside of ctx, and that its reaction does not include. */
const outsideWaits: Record<string, () => Promise<unknown>> = {
  "process.nextTick": () => new Promise<void>((resolve) => process.nextTick(resolve)),
  "two ticks": async () => {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await new Promise<void>((resolve) => process.nextTick(resolve));
  },
  setImmediate: () => new Promise<void>((resolve) => void setImmediate(resolve)),
  "a timer of 0 ms": () => delay(0),
  "a timer of 1 ms": () => delay(1),
  "a timer of 10 ms": () => delay(10),
  "a file": () => readFile(import.meta.filename),
  "a file that is missing": () => readFile(join(import.meta.dirname, "missing")).catch(() => undefined),
  "a message": async () => {
    const { port1, port2 } = new MessageChannel();
    const message = once(port2, "message");
    port1.postMessage(1);
    await message;
    port1.close();
  },
  "a refused connection": () =>
    once(connect({ port: closedPort, host: "127.0.0.1" }), "connect").catch(() => undefined),
  "a refused fetch": () => fetch(`http://127.0.0.1:${closedPort}/`).catch(() => undefined),
  "a thread pool": () => promisify(pbkdf2)("a", "b", 1, 16, "sha256"),
};

/** What the code awaits is settled by microtasks alone: any number of them is part of its reaction. */
const promiseWaits: Record<string, () => Promise<unknown>> = {
  "a settled promise": () => Promise.resolve(),
  "many settled promises": async () => {
    for (let n = 0; n < 1000; n++) await Promise.resolve();
  },
  queueMicrotask: () => new Promise<void>((resolve) => queueMicrotask(resolve)),
  "an async generator": async () => {
    const numbers = (async function* numbers() {
      for (let n = 0; n < 10; n++) yield await Promise.resolve(n);
    })();
    for await (const _ of numbers);
  },
};

/** From where an arrival may be handed to the code. */
const origins: Record<string, (call: () => void) => void> = {
  "a microtask": (call) => queueMicrotask(call),
  "a tick": (call) => process.nextTick(call),
  "a tick before another": (call) => {
    process.nextTick(call);
    process.nextTick(() => undefined);
  },
  "an immediate": (call) => void setImmediate(call),
  "a timer": (call) => void setTimeout(call, 1),
};

/** What is outside has every chance to be ready in the turn of the event loop in which the code reacts. */
function handOver(origin: (call: () => void) => void, see: () => Promise<Step[]>): Promise<Step[]> {
  return new Promise((resolve, reject) => {
    origin(() => {
      see().then(resolve, reject);
      queueMicrotask(() => {
        for (const end = performance.now() + 12; performance.now() < end;);
      });
    });
  });
}

describe("W2: what code awaits outside of ctx is noticed, however soon it is settled", () => {
  for (const [from, origin] of Object.entries(origins)) {
    for (const [what, wait] of Object.entries(outsideWaits)) {
      test(`${what}, from ${from}`, async () => {
        const goneOn: string[] = [];
        const rigs = ["step", "return", "throw"].map(
          (then) =>
            new RunRig(async (ctx) => {
              await wait();
              goneOn.push(then);
              if (then === "step") await ctx.sleep(5);
              if (then === "throw") throw new Error("outside");
            }),
        );
        await Promise.all(
          rigs.map((rig) =>
            assert.rejects(
              handOver(origin, () => rig.start()).finally(() => rig.run.end()),
              notDurable,
            ),
          ),
        );
        const updated = await RunRig.started(async (ctx) => {
          ctx.onUpdate("set", async () => {
            await wait();
            goneOn.push("update");
          });
          await ctx.waitForEvent("go");
        });
        const answers = await handOver(origin, () => updated.update("u", "set")).catch(() => []);
        while (goneOn.length < 4) await delay(1);
        await drained();
        assert.deepEqual([...rigs.flatMap((rig) => rig.steps), ...answers], []);
        await assert.rejects(updated.raise("go"), notDurable);
        assert.deepEqual(
          rigs.flatMap((rig) => rig.strays),
          [],
          "whoever saw it was told",
        );
      });
    }

    for (const [what, wait] of Object.entries(promiseWaits)) {
      test(`${what} is part of a reaction from ${from}`, async () => {
        const rig = new RunRig(async (ctx) => {
          await wait();
          await ctx.sleep(5);
          await wait();
          return "done";
        });
        assert.deepEqual(inWords(await handOver(origin, () => rig.start())), ["timer 1005"]);
        assert.deepEqual(inWords(await handOver(origin, () => rig.fire(0))), ['complete "done"']);
      });
    }
  }
});
