import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LoopWorkTable, loopWorkBytes } from "./loop-work-table.ts";

/** The main thread's table, and the one of the watchdog's thread on the same memory. */
function tables(): { main: LoopWorkTable; watchdog: LoopWorkTable } {
  const memory = new SharedArrayBuffer(loopWorkBytes);
  return { main: new LoopWorkTable(memory), watchdog: new LoopWorkTable(memory) };
}

test("the other thread sees what is under way, and in which phase", () => {
  const { main, watchdog } = tables();
  const code = main.enter("code", "order-1", "order", "3");
  equal(main.suspend(code), code);
  const job = main.enter("job", "bestellung-ü", "größe 😀", "pay");
  const decision = main.enter("decision", "i", "w", "is large?");
  deepEqual(watchdog.list(), [
    { kind: "code", instanceId: "order-1", workflowName: "order", step: "3", phase: "reacting" },
    { kind: "job", instanceId: "bestellung-ü", workflowName: "größe 😀", step: "pay", phase: "running" },
    { kind: "decision", instanceId: "i", workflowName: "w", step: "is large?", phase: "running" },
  ]);
  main.leave(decision);
  main.suspend(job);
  main.leave(code);
  deepEqual(watchdog.list(), [
    { kind: "job", instanceId: "bestellung-ü", workflowName: "größe 😀", step: "pay", phase: "waiting" },
  ]);
  main.leave(job);
  deepEqual(watchdog.list(), []);
});

test("heartbeats and reports pass between the threads", () => {
  const { main, watchdog } = tables();
  main.beat();
  main.beat();
  equal(watchdog.heartbeat, 2);
  equal(main.takeReported(), false);
  watchdog.markReported();
  equal(main.takeReported(), true);
  equal(main.takeReported(), false);
});

test("texts that are too long are cut, and harm no neighbour", () => {
  const { main, watchdog } = tables();
  main.enter("job", "i".repeat(3000), "w", "t");
  main.enter("job", "i", "w", "t");
  const [long, short] = watchdog.list();
  equal(long?.instanceId, "i".repeat(2044));
  deepEqual(short, { kind: "job", instanceId: "i", workflowName: "w", step: "t", phase: "running" });
});

test("jobs that wait, however many, leave room for the call that is about to run", () => {
  const { main, watchdog } = tables();
  const jobs = Array.from({ length: 3000 }, (_, each) => main.suspend(main.enter("job", `i${each}`, "w", "t")));
  const work = main.enter("code", "late", "w", "0");
  equal(watchdog.list().filter(({ phase }) => phase === "running").length, 1);
  equal(watchdog.list().length + watchdog.unnamedCount, 3001);
  main.leave(work);
  for (const job of jobs) main.leave(job);
  deepEqual(watchdog.list(), []);
  equal(watchdog.unnamedCount, 0);
});

test("whatever the order of calls, named and unnamed work are those under way", () => {
  const call = fc.record({ does: fc.constantFrom("enter", "suspend", "leave"), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(call, { size: "max", maxLength: 3000 }), (calls) => {
      const { main, watchdog } = tables();
      const running: number[] = [];
      const suspended: number[] = [];
      for (const { does, which } of calls) {
        const from = which % 2 === 0 || suspended.length === 0 ? running : suspended;
        if (does === "enter") running.push(main.enter("job", "i", "w", "t"));
        else if (does === "suspend" && running.length > 0) suspended.push(main.suspend(running.pop() as number));
        else if (does === "leave" && from.length > 0) main.leave(from.splice(which % from.length, 1)[0] as number);
      }
      equal(watchdog.list().length + watchdog.unnamedCount, running.length + suspended.length);
    }),
  );
});

test("of works that react in the same turn of the loop, the one whose microtask runs is known", async () => {
  const depths = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(depths, async (all) => {
      const { main, watchdog } = tables();
      const running = (): string => {
        const found = watchdog.list().filter(({ phase }) => phase === "running");
        return found.map(({ instanceId }) => instanceId).join();
      };
      const reactions = all.map((depth, each) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const seen: string[] = [];
        const code = (async () => {
          await promise;
          seen.push(running());
          for (let level = 1; level < depth; level++) {
            await Promise.resolve();
            seen.push(running());
          }
        })();
        return { id: `i${each}`, resolve, seen, code };
      });
      for (const { id, resolve } of reactions) {
        const work = main.enter("code", id, "w", "0");
        main.follow(work);
        resolve();
        main.suspend(work);
      }
      await Promise.all(reactions.map(({ code }) => code));
      for (const { id, seen } of reactions) {
        deepEqual(
          seen,
          seen.map((_, level) => (level < 8 ? id : "")),
        );
      }
    }),
    { numRuns: 50 },
  );
});
