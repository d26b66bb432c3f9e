import type { BackfillRange } from "../../src/schedules/schedule-check.ts";
import type { ScheduleSpec, Timing } from "../../src/schedules/schedule-spec.ts";
import type { Chance } from "./chance.ts";
import { clockChangeMs, epochMs } from "./clock.ts";
import { code } from "./code-workflows.ts";
import { knownTimings } from "./known-timings.ts";
import { scheduledDags } from "./scheduled-workflows.ts";

/** What clients do to a schedule while it is there. */
export type ScheduleAct =
  | { readonly what: "look" | "list" | "trigger"; readonly at: number }
  | { readonly what: "pause"; readonly at: number; readonly forMs: number }
  | { readonly what: "change"; readonly at: number; readonly spec: ScheduleSpec }
  | { readonly what: "backfill"; readonly at: number; readonly range: BackfillRange };

/** One schedule, from when it is made to when it is deleted, in virtual time. */
export interface ScheduleScenario {
  readonly id: string;
  readonly spec: ScheduleSpec;
  readonly createAt: number;
  readonly acts: readonly ScheduleAct[];
  /** Not before the faults are over. */
  readonly deleteAt: number;
}

export interface ScheduleOptions {
  /** They are there within this time, and a little longer. */
  readonly spanMs: number;
}

/** The same for the same chance. Few, and with few runs: there are enough instances without them. */
export function drawSchedules(chance: Chance, options: ScheduleOptions): ScheduleScenario[] {
  const count = chance.pick([1, 1, 1, 1, 2, 3]);
  return Array.from({ length: count }, (_, number) => drawSchedule(chance.fork(`schedule ${number}`), number, options));
}

function drawSchedule(chance: Chance, number: number, options: ScheduleOptions): ScheduleScenario {
  const { spanMs } = options;
  const lastsMs = chance.within(5000, 20_000);
  const createAt = chance.within(0, Math.max(0, spanMs - lastsMs));
  const isEarly = chance.isLucky(0.5);
  const deleteAt = isEarly ? createAt + lastsMs : spanMs + chance.within(0, 4000);
  const spec = drawSpec(chance, { lastsMs: Math.max(lastsMs, deleteAt - createAt), madeAt: createAt });
  return {
    id: `t${number}`,
    spec,
    createAt,
    acts: drawActs(chance, spec, { from: createAt, to: deleteAt }),
    deleteAt,
  };
}

/** Some five runs, or however many there are around the change of the clocks. One that ends before its first is refused. */
function drawSpec(
  chance: Chance,
  { lastsMs, madeAt, isPrompt = false }: { lastsMs: number; madeAt: number; isPrompt?: boolean },
): ScheduleSpec {
  const every = drawTiming(chance, lastsMs);
  const countsFromEnd = "delayMs" in every;
  return {
    ...drawWork(chance),
    every,
    ...(chance.isLucky(0.7) && { whenBusy: chance.pick(["skip", "queue", "allow", "cancel-previous"] as const) }),
    ...(chance.isLucky(0.7) && { whenMissed: chance.pick(["once", "all", "none"] as const) }),
    ...(!isPrompt && !countsFromEnd && chance.isLucky(0.2) && { jitterMs: chance.whole(50, 1500) }),
    ...(chance.isLucky(0.1) && { startAt: epochMs + chance.whole(0, 20_000) }),
    ...(chance.isLucky(0.1) && { endAt: epochMs + madeAt + chance.whole(10_000, 60_000) }),
  };
}

function drawTiming(chance: Chance, lastsMs: number): Timing {
  const periodMs = (runs: number): number => Math.max(1000, Math.floor(lastsMs / runs));
  const kind = chance.pick(["rate", "rate", "delay", "steady", "around-change", "around-change"] as const);
  if (kind === "rate") return { rateMs: periodMs(chance.whole(2, 5)) };
  if (kind === "delay") return { delayMs: periodMs(chance.whole(2, 5)) };
  if (kind === "around-change") return chance.pick(knownTimings.aroundChange).every;
  return chance.pick(knownTimings.steady.filter(({ stepMs = 0 }) => stepMs >= lastsMs / 6)).every;
}

function drawWork(chance: Chance): Pick<ScheduleSpec, "workflow" | "input"> {
  if (chance.isLucky(0.6)) return { workflow: chance.pick(scheduledDags).name };
  const napsMs = chance.isLucky(0.5) ? [] : [chance.whole(100, 5000)];
  return { workflow: code.sleeper.name, input: { napsMs, togetherMs: [] } };
}

function drawActs(chance: Chance, spec: ScheduleSpec, { from, to }: { from: number; to: number }): ScheduleAct[] {
  const acts: ScheduleAct[] = [];
  const at = (): number => chance.within(from, to);
  for (let looks = chance.whole(0, 2); looks > 0; looks--) acts.push({ what: chance.pick(["look", "list"]), at: at() });
  if (chance.isLucky(0.3)) acts.push({ what: "pause", at: at(), forMs: chance.waitMs(3000) });
  if (chance.isLucky(0.2)) acts.push({ what: "trigger", at: at() });
  // Runs that wait out their jitter are not told of the change: it would be unclear what they began with.
  if (spec.jitterMs === undefined && chance.isLucky(0.2)) acts.push(drawChange(chance, at(), to - from));
  if (!("delayMs" in spec.every) && chance.isLucky(0.15))
    acts.push({ what: "backfill", at: at(), range: drawRange(chance) });
  return acts;
}

function drawChange(chance: Chance, at: number, lastsMs: number): ScheduleAct {
  return { what: "change", at, spec: drawSpec(chance, { lastsMs, madeAt: at, isPrompt: true }) };
}

function drawRange(chance: Chance): BackfillRange {
  const from = clockChangeMs - chance.whole(1000, 20_000);
  const parallelism = chance.pick([undefined, 2, 3]);
  return { from, to: from + chance.whole(0, 15_000), ...(parallelism !== undefined && { parallelism }) };
}
