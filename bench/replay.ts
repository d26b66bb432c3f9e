import { setTimeout as delay } from "node:timers/promises";
import { defineWorkflow, type Engine } from "../src/index.ts";
import { storage as storeAt } from "../src/storage.ts";
import { type Figure, figure, noGoal, type Settings } from "./figure.ts";
import { elapsedMs, onEngine } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";

/** Each leaves three events: the activity before it is through, this one is asked for, and scheduled. */
const steps = 3333;
const instanceId = "long";

const longRun = defineWorkflow("long", async (ctx) => {
  let done = 0;
  ctx.onQuery("done", () => done);
  for (; done < steps; done++) await ctx.run(noOp);
  await ctx.waitForEvent("go");
});

/** Code with 10,000 events behind it is brought back after a restart; ms, beside reading those events. */
export async function replay({ storage, runs }: Settings): Promise<Figure[]> {
  return await storage.inDatabase(async (address) => {
    const onNext = async <T>(work: (engine: Engine) => Promise<T>): Promise<T> =>
      await onEngine({ ...engineFor(10), workflows: [longRun], storage: await storeAt(address) }, work);
    const events = await onNext(runToTheEvent);
    const times: { replay: number; read: number }[] = [];
    for (let run = 0; run <= 3 * runs; run++) times.push(await onNext(bringBack));
    times.shift();
    const value = median(times.map((each) => each.replay));
    const ceiling = median(times.map(({ read }) => read));
    return [figure("replay", { value, ceiling, unit: "ms" }, noGoal, { events, usPerEvent: (value / events) * 1000 })];
  });
}

async function runToTheEvent(engine: Engine): Promise<number> {
  await engine.startWorkflow(longRun, undefined, { instanceId });
  while ((await engine.queryWorkflowInstance<number>(instanceId, "done")) < steps) await delay(20);
  return await countEvents(engine);
}

async function bringBack(engine: Engine): Promise<{ replay: number; read: number }> {
  const replayMs = await elapsedMs(() => engine.queryWorkflowInstance(instanceId, "done"));
  return { replay: replayMs, read: await elapsedMs(() => countEvents(engine)) };
}

async function countEvents(engine: Engine): Promise<number> {
  let events = 0;
  let afterTurn = -1;
  for (;;) {
    const page = await engine.getWorkflowInstanceHistory(instanceId, { afterTurn });
    const last = page.at(-1);
    if (last === undefined) return events;
    for (const turn of page) events += turn.events.length;
    afterTurn = last.turn;
  }
}
