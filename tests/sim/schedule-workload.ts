import type { BackfillRange } from "../../src/schedules/schedule-check.ts";
import type { ScheduleSpec, Timing } from "../../src/schedules/schedule-spec.ts";
import type { SimRandom } from "./sim-random.ts";
import { clockChangeMs, epochMs } from "./clock.ts";
import { code } from "./code-workflows.ts";
import { knownTimings } from "./known-timings.ts";
import { scheduledDags } from "./scheduled-workflows.ts";

/** The operations of clients on an existing schedule. */
export type ScheduleAct =
  | { readonly what: "look" | "list" | "trigger"; readonly at: number }
  | { readonly what: "pause"; readonly at: number; readonly forMs: number }
  | { readonly what: "change"; readonly at: number; readonly spec: ScheduleSpec }
  | { readonly what: "backfill"; readonly at: number; readonly range: BackfillRange };

/** One schedule, from its creation to its deletion, in virtual time. */
export interface ScheduleScenario {
  readonly id: string;
  readonly spec: ScheduleSpec;
  readonly createAt: number;
  readonly acts: readonly ScheduleAct[];
  /** Not before the end of the faults. */
  readonly deleteAt: number;
}

export interface ScheduleOptions {
  /** The period in which schedules exist, approximately. */
  readonly spanMs: number;
}

/** Draws schedules; deterministic for a random source. Few, with few runs each, to limit the number of instances. */
export function drawSchedules(random: SimRandom, options: ScheduleOptions): ScheduleScenario[] {
  const count = random.pick([1, 1, 1, 1, 2, 3]);
  return Array.from({ length: count }, (_, number) => drawSchedule(random.fork(`schedule ${number}`), number, options));
}

function drawSchedule(random: SimRandom, number: number, options: ScheduleOptions): ScheduleScenario {
  const { spanMs } = options;
  const lastsMs = random.within(5000, 20_000);
  const createAt = random.within(0, Math.max(0, spanMs - lastsMs));
  const isEarly = random.isLucky(0.5);
  const deleteAt = isEarly ? createAt + lastsMs : spanMs + random.within(0, 4000);
  const spec = drawSpec(random, { lastsMs: Math.max(lastsMs, deleteAt - createAt), madeAt: createAt });
  return {
    id: `t${number}`,
    spec,
    createAt,
    acts: drawActs(random, spec, { from: createAt, to: deleteAt }),
    deleteAt,
  };
}

/** About five runs, or those around the DST change. A schedule that ends before its first run is refused. */
function drawSpec(
  random: SimRandom,
  { lastsMs, madeAt, isPrompt = false }: { lastsMs: number; madeAt: number; isPrompt?: boolean },
): ScheduleSpec {
  const every = drawTiming(random, lastsMs);
  const countsFromEnd = "delayMs" in every;
  return {
    ...drawWork(random),
    every,
    ...(random.isLucky(0.7) && { whenBusy: random.pick(["skip", "queue", "allow", "cancel-previous"] as const) }),
    ...(random.isLucky(0.7) && { whenMissed: random.pick(["once", "all", "none"] as const) }),
    ...(!isPrompt && !countsFromEnd && random.isLucky(0.2) && { jitterMs: random.whole(50, 1500) }),
    ...(random.isLucky(0.1) && { startAt: epochMs + random.whole(0, 20_000) }),
    ...(random.isLucky(0.1) && { endAt: epochMs + Math.ceil(madeAt) + random.whole(10_000, 60_000) }),
  };
}

function drawTiming(random: SimRandom, lastsMs: number): Timing {
  const periodMs = (runs: number): number => Math.max(1000, Math.floor(lastsMs / runs));
  const kind = random.pick(["rate", "rate", "delay", "steady", "around-change", "around-change"] as const);
  if (kind === "rate") return { rateMs: periodMs(random.whole(2, 5)) };
  if (kind === "delay") return { delayMs: periodMs(random.whole(2, 5)) };
  if (kind === "around-change") return random.pick(knownTimings.aroundChange).every;
  return random.pick(knownTimings.steady.filter(({ stepMs = 0 }) => stepMs >= lastsMs / 6)).every;
}

function drawWork(random: SimRandom): Pick<ScheduleSpec, "workflow" | "input"> {
  if (random.isLucky(0.6)) return { workflow: random.pick(scheduledDags).name };
  const napsMs = random.isLucky(0.5) ? [] : [random.whole(100, 5000)];
  return { workflow: code.sleeper.name, input: { napsMs, togetherMs: [] } };
}

function drawActs(random: SimRandom, spec: ScheduleSpec, { from, to }: { from: number; to: number }): ScheduleAct[] {
  const acts: ScheduleAct[] = [];
  const at = (): number => random.within(from, to);
  for (let looks = random.whole(0, 2); looks > 0; looks--) acts.push({ what: random.pick(["look", "list"]), at: at() });
  if (random.isLucky(0.3)) acts.push({ what: "pause", at: at(), forMs: random.waitMs(3000) });
  if (random.isLucky(0.2)) acts.push({ what: "trigger", at: at() });
  // Runs that wait for their jitter ignore changes of the schedule, so what they started with would be unclear.
  if (spec.jitterMs === undefined && random.isLucky(0.2)) acts.push(drawChange(random, at(), to - from));
  if (!("delayMs" in spec.every) && random.isLucky(0.15))
    acts.push({ what: "backfill", at: at(), range: drawRange(random) });
  return acts;
}

function drawChange(random: SimRandom, at: number, lastsMs: number): ScheduleAct {
  return { what: "change", at, spec: drawSpec(random, { lastsMs, madeAt: at, isPrompt: true }) };
}

function drawRange(random: SimRandom): BackfillRange {
  const from = clockChangeMs - random.whole(1000, 20_000);
  const parallelism = random.pick([undefined, 2, 3]);
  return { from, to: from + random.whole(0, 15_000), ...(parallelism !== undefined && { parallelism }) };
}
