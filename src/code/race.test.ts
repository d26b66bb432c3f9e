import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { inWords, RunRig } from "./code-run.rig.ts";

type Ctx = WorkflowContext;

const tick = (ctx: Ctx, ms = 100): Promise<string> => ctx.sleep(ms).then(() => "tick");

/** What the code got, round after round. */
async function loop(ctx: Ctx, round: () => Promise<unknown>): Promise<void> {
  for (;;) ctx.setCustomStatus(await round());
}

function got({ steps }: RunRig): unknown[] {
  return steps.flatMap((step) => (step.type === "custom-status" ? [JSON.parse(step.status ?? "null") as unknown] : []));
}

describe("what loses a race", () => {
  test("leaves the next event to whoever waits for it then", async () => {
    const rig = await RunRig.started((ctx) => loop(ctx, () => ctx.race([ctx.waitForEvent("cmd"), tick(ctx)])));
    assert.deepEqual(inWords(await rig.fire(0)), ['custom-status "tick"', "timer 1100"]);
    await rig.raise("cmd", "A");
    await rig.raise("cmd", "B");
    assert.deepEqual(got(rig), ["tick", "A", "B"]);
  });

  test("is a timer that is canceled", async () => {
    const rig = await RunRig.started((ctx) => loop(ctx, () => ctx.race([ctx.waitForEvent("cmd"), tick(ctx)])));
    assert.deepEqual(inWords(await rig.raise("cmd", 1)), ["cancel-timer 0", "custom-status 1", "timer 1100"]);
    assert.deepEqual(await rig.fire(0), [], "a timer that was canceled wakes nobody");
  });

  test("is a wait with a timeout, and the timer of that", async () => {
    const rig = await RunRig.started((ctx) =>
      loop(ctx, () => ctx.race([ctx.waitForEvent("a", { timeoutMs: 500 }), ctx.waitForEvent("b")])),
    );
    assert.deepEqual(inWords(await rig.raise("b", 1)), ["cancel-timer 0", "custom-status 1", "timer 1500"]);
  });

  test("is all of a race in a race, and all of what is waited for together", async () => {
    const rig = await RunRig.started((ctx) =>
      loop(ctx, () =>
        ctx.race([
          ctx.race([ctx.waitForEvent("a"), tick(ctx, 500)]),
          ctx.all([ctx.waitForEvent("b"), ctx.waitForEvent("c")]),
          ctx.any([ctx.waitForEvent("d").finally(() => undefined), ctx.waitForEvent("e")]).then(() => "any"),
          tick(ctx),
        ]),
      ),
    );
    await rig.raise("b", 1);
    assert.deepEqual(inWords(await rig.fire(1)).slice(0, 2), ["cancel-timer 0", 'custom-status "tick"']);
    for (const name of ["a", "c", "d", "e"]) await rig.raise(name, name);
    assert.deepEqual(got(rig), ["tick", "a", [1, "c"], "any", "any"], "the event that one of two had is still there");
    assert.deepEqual(rig.run.events.untaken(), []);
  });

  test("keeps no event that had come for it at the same time", async () => {
    const rig = new RunRig(async (ctx) => [
      await ctx.race([ctx.waitForEvent("a"), ctx.waitForEvent("b")]),
      await ctx.waitForEvent("b"),
    ]);
    await rig.start(undefined, [
      { name: "a", data: "1" },
      { name: "b", data: "2" },
    ]);
    assert.deepEqual(inWords(rig.steps), ["complete [1,2]"]);
  });

  test("goes on if somebody else waits for it", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const cmd = ctx.waitForEvent("cmd");
      void cmd.then((value) => ctx.setCustomStatus(value));
      const other = (async () => await cmd)();
      await ctx.race([cmd, tick(ctx)]);
      return await other;
    });
    assert.deepEqual(inWords(await rig.fire(0)), []);
    assert.deepEqual(inWords(await rig.raise("cmd", 1)), ["custom-status 1", "complete 1"]);
  });

  test("is waited for again when it runs in the next race, or is awaited", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const cmd = ctx.waitForEvent("cmd");
      const late = ctx.sleep(1000).then(() => "late");
      const seen = [await ctx.race([cmd, late, tick(ctx)]), await ctx.race([cmd, late, tick(ctx, 200)])];
      return [...seen, await cmd, await late];
    });
    assert.deepEqual(inWords(await rig.fire(1)), ["cancel-timer 0", "timer 1200", "timer 2000"]);
    assert.deepEqual(inWords(await rig.raise("cmd", 1)), ["cancel-timer 3", "cancel-timer 2", "timer 2000"]);
    assert.deepEqual(inWords(await rig.fire(4)), ['complete ["tick",1,1,"late"]']);
  });

  test("is, of activities, only out of sight: they run on", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const slow = ctx.run("slow");
      const first = await ctx.race([slow, tick(ctx)]);
      return [first, await slow];
    });
    assert.deepEqual(inWords(await rig.fire(0)), []);
    assert.deepEqual(inWords(await rig.succeed(0, 5)), ['complete ["tick",5]']);
  });

  test("leaves nothing that the code could be said to wait for", async () => {
    const rig = await RunRig.started(async (ctx) => {
      await ctx.race([ctx.waitForEvent("never"), ctx.run("a")]);
      await new Promise(() => undefined);
    });
    await assert.rejects(rig.succeed(0), /waits for something, but for nothing that is durable/);
  });

  test("hears of a cancel no more than once", async () => {
    const rig = await RunRig.started(async (ctx) => {
      await ctx.race([ctx.waitForEvent("a"), ctx.waitForEvent("b", { timeoutMs: 10 }), ctx.sleep(10)]);
    });
    assert.deepEqual(inWords(await rig.cancel("enough")), ["cancel enough"]);
  });
});

describe("any", () => {
  test("is won by the first that succeeds", async () => {
    const rig = await RunRig.started((ctx) => ctx.any([ctx.run("a"), ctx.waitForEvent("e"), ctx.sleep(5)]));
    await rig.fail(0);
    assert.deepEqual(inWords(await rig.raise("e", 1)), ["cancel-timer 0", "complete 1"]);
  });

  test("fails with all that failed, in order; so does one of nothing", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const errors = async (any: Promise<unknown>): Promise<string[]> =>
        await any.then(
          () => assert.fail(),
          (error: unknown) => (error as AggregateError).errors.map((each: Error) => each.message),
        );
      return [await errors(ctx.any([ctx.run("a"), ctx.run("b")])), await errors(ctx.any([]))];
    });
    await rig.fail(1, "two");
    assert.deepEqual(inWords(await rig.fail(0, "one")), [
      'complete [["activity \\"a\\" failed: one","activity \\"b\\" failed: two"],[]]',
    ]);
  });
});

type Part =
  | { readonly op: "event"; readonly name: string; readonly isDerived: boolean }
  | { readonly op: "sleep"; readonly ms: number }
  | { readonly op: "race" | "any" | "all"; readonly parts: readonly Part[] };

const part: fc.Arbitrary<Part> = fc.letrec<{ part: Part }>((tie) => ({
  part: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      op: fc.constant("event" as const),
      name: fc.constantFrom("a", "b"),
      isDerived: fc.boolean(),
    }),
    fc.record({ op: fc.constant("sleep" as const), ms: fc.constantFrom(10, 20) }),
    fc.record({
      op: fc.constantFrom("race" as const, "any" as const, "all" as const),
      parts: fc.array(tie("part"), { minLength: 1, maxLength: 3 }),
    }),
  ),
})).part;

function promiseOf(ctx: Ctx, program: Part): Promise<unknown> {
  switch (program.op) {
    case "sleep":
      return ctx.sleep(program.ms);
    case "event": {
      const { name, isDerived } = program;
      const event = ctx.waitForEvent(name);
      return isDerived ? event.then((value) => value) : event;
    }
    case "all":
      return ctx.all(program.parts.map((each) => promiseOf(ctx, each)));
    default:
      return ctx[program.op](program.parts.map((each) => promiseOf(ctx, each)));
  }
}

const happening = fc.oneof(
  fc.record({ what: fc.constant("raise" as const), name: fc.constantFrom("a", "b") }),
  fc.record({ what: fc.constant("fire" as const), which: fc.nat(5) }),
);

/** The timers that are set, by number. */
function timersSet({ steps }: RunRig, fired: ReadonlySet<number>): number[] {
  const timers = new Set<number>();
  let next = 0;
  for (const step of steps) {
    if (step.type === "timer") timers.add(next++);
    if (step.type === "cancel-timer") assert.ok(timers.delete(step.timer), "a timer is canceled once");
  }
  return [...timers].filter((timer) => !fired.has(timer));
}

test("whatever is raced, every event reaches the code once or is kept for it, and no timer is left over", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.array(happening, { minLength: 5, maxLength: 30 }),
      async (rounds, happenings) => {
        const rig = await RunRig.started(async (ctx) => {
          for (const program of rounds) {
            ctx.setCustomStatus((await ctx.race([promiseOf(ctx, program), ctx.waitForEvent("skip")])) ?? null);
          }
          await ctx.waitForEvent("end");
        });
        const raised: string[] = [];
        const fired = new Set<number>();
        for (const [place, each] of happenings.entries()) {
          if (each.what === "raise") {
            raised.push(`${each.name}${place}`);
            await rig.raise(each.name, `${each.name}${place}`);
            continue;
          }
          const set = timersSet(rig, fired);
          const timer = set[each.which % Math.max(1, set.length)];
          if (timer === undefined) continue;
          fired.add(timer);
          await rig.fire(timer);
        }
        for (let round = got(rig).length; round < rounds.length; round++) await rig.raise("skip");
        assert.deepEqual(timersSet(rig, fired), []);
        const untaken = rig.run.events.untaken().map(({ data }) => JSON.parse(data ?? "null") as string);
        const seen = [...got(rig), ...untaken].flat(Infinity).filter((value) => typeof value === "string");
        assert.deepEqual(seen.toSorted(), raised.toSorted());
      },
    ),
    { numRuns: 500 },
  );
});
