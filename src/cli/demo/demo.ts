import type { HeddleClient } from "../../client/client.ts";
import { systemClock } from "../../engine/system-clock.ts";
import { assert } from "../../base/assert.ts";
import type { Logger } from "../../base/logger.ts";
import type { Doors, PastEngine, Store } from "../doors.ts";
import type { AppParts } from "../../server/config/app-modules.ts";
import { demoJobs } from "./demo-jobs.ts";
import { demoWorkflows, orderWorkflow } from "./demo-workflows.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** How far the past goes back. */
const pastMs = 7 * dayMs;
/** Between the starts of the past. */
const stepMs = 20 * minuteMs;
/** Between the starts while the server runs: the ten slots of a new server keep up with it. */
const liveMs = 30_000;

/** Jobs and workflows of the demo, for a server that runs now. */
export const demoParts: AppParts = { jobs: demoJobs(() => systemClock), workflows: demoWorkflows };

/** Names in an order that is the same every time, and in which the frequent ones come more often. */
function nextWorkflow(step: number): string {
  const isBusy = step % 3 === 0;
  const place = (step * 7 + Math.floor(step / 5)) % demoWorkflows.length;
  const name = demoWorkflows[place]?.name ?? "";
  return isBusy ? (demoWorkflows[(step * 11) % 17]?.name ?? name) : name;
}

function inputOf(workflow: string, step: number): unknown {
  return workflow === orderWorkflow ? { order: `o-${4000 + step}`, euros: 20 + (step % 60) } : { run: step };
}

/** Id, workflow and due times. The past has those that are not due every few minutes. */
const schedules: readonly (readonly [string, string, string])[] = [
  ["nightly-etl", "nightly-etl", "0 2 * * *"],
  ["sales-daily", "sales-daily", "30 5 * * 1-5"],
  ["sync-shop", "sync-shop", "*/5 * * * *"],
  ["sync-rates", "sync-rates", "*/2 * * * *"],
  ["forecast-sales", "forecast-sales", "0 */4 * * *"],
  ["recommendations", "recommendations", "15 3 * * *"],
];

/** Lives through a week in seconds, up to now: starts workflows as time passes, and lets them run. */
export async function runPast(doors: Doors, storage: Store): Promise<void> {
  const started: { past?: PastEngine } = {};
  const clockOf = (): PastEngine["clock"] => {
    assert(started.past !== undefined, "jobs run once the engine has started");
    return started.past.clock;
  };
  const end = systemClock.now();
  started.past = await doors.pastEngine({
    storage,
    now: end - pastMs,
    jobs: demoJobs(clockOf),
    workflows: demoWorkflows,
    logger: silent,
  });
  const { engine, clock, stop } = started.past;
  for (const [scheduleId, workflow, cron] of schedules.filter(([, , each]) => !each.startsWith("*/"))) {
    await engine.schedules.create(scheduleId, { workflow, every: { cron } });
  }
  for (let step = 0; clock.now() < end - stepMs; step++) {
    // The morning is busier than the night.
    for (let more = 0; more <= Math.max(0, Math.sin(step / 40) * 3); more++) {
      const name = nextWorkflow(step * 3 + more);
      const workflow = demoWorkflows.find((each) => each.name === name);
      if (workflow !== undefined && "fn" in workflow) await engine.startWorkflow(workflow, inputOf(name, step));
      else if (workflow !== undefined) await engine.submitWorkflow(workflow, { params: inputOf(name, step) });
    }
    await clock.advance(stepMs);
  }
  await stop();
}

/** The failures of the past are in its histories. */
const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Keeps a running server busy: schedules, and a start every few seconds. Returns what stops it. */
export async function keepBusy(client: HeddleClient): Promise<() => void> {
  const { items } = await client.call("listSchedules");
  for (const [scheduleId, workflow, cron] of schedules) {
    if (items.some((each) => each.scheduleId === scheduleId)) continue;
    await client.call("createSchedule", { body: { scheduleId, workflow, every: { cron } } });
  }
  let step = 0;
  const timer = setInterval(() => {
    const name = nextWorkflow(step++);
    // A server that stops refuses it.
    client.start(name, inputOf(name, step)).catch(() => clearInterval(timer));
  }, liveMs);
  for (; step < 8; step++) await client.start(nextWorkflow(step * 5), inputOf(nextWorkflow(step * 5), step));
  return () => clearInterval(timer);
}
