import { isDeepStrictEqual } from "node:util";
import type { DataOf } from "../../api/routes.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import type { ScheduleSpec } from "../../schedules/schedule-spec.ts";
import type { Asked, Handlers } from "../http/handler.ts";
import { done, type RouteParts } from "./route-parts.ts";

type ScheduleRoutes = Pick<
  Handlers,
  | "listSchedules"
  | "createSchedule"
  | "previewSchedule"
  | "getSchedule"
  | "changeSchedule"
  | "deleteSchedule"
  | "pauseSchedule"
  | "resumeSchedule"
  | "triggerSchedule"
  | "backfillSchedule"
>;

type View = DataOf<"getSchedule">;

const backfillMax = 10_000;

/** Of what `getSchedule` shows. */
const timesShown = 5;

export function scheduleRoutes(parts: RouteParts): ScheduleRoutes {
  const { schedules } = parts.engine;
  return {
    listSchedules: async () => ({ items: (await schedules.list()) as unknown as View[] }),
    createSchedule: (asked) => createSchedule(parts, asked),
    previewSchedule: ({ body }) => {
      const { from, count, ...timing } = body;
      const options = { count, ...(from !== undefined && { from }) };
      return { times: schedules.preview(withoutUndefined(timing) as Omit<ScheduleSpec, "workflow">, options) };
    },
    getSchedule: async ({ params }) => {
      const view = await schedules.get(params.id);
      const nextFireTimes = view.isEnabled ? schedules.preview(view.spec, { count: timesShown }) : [];
      return { ...view, nextFireTimes };
    },
    changeSchedule: async ({ params, body }) => {
      await schedules.change(params.id, withoutUndefined(body) as unknown as ScheduleSpec);
      return done;
    },
    deleteSchedule: async ({ params }) => {
      await schedules.delete(params.id);
      return done;
    },
    pauseSchedule: async ({ params }) => {
      await schedules.pause(params.id);
      return done;
    },
    resumeSchedule: async ({ params }) => {
      await schedules.resume(params.id);
      return done;
    },
    triggerSchedule: async ({ params }) => ({ instanceId: await schedules.trigger(params.id) }),
    backfillSchedule: async ({ params, body }) => {
      await checkBackfill(parts, params.id, body);
      return { runs: await schedules.backfill(params.id, body) };
    },
  };
}

async function createSchedule(
  { engine }: RouteParts,
  { body, isRepeat }: Asked<"createSchedule">,
): Promise<{ scheduleId: string }> {
  const { scheduleId, ...given } = body;
  const spec = withoutUndefined(given) as unknown as ScheduleSpec;
  try {
    await engine.schedules.create(scheduleId, spec);
  } catch (error) {
    if (!isRepeat || !hasCode(error, "INSTANCE_EXISTS")) throw error;
    // The server went down between the schedule and its answer: what is there is what was asked for.
    const there = (await engine.schedules.get(scheduleId)).spec;
    if (there.workflow !== spec.workflow || !isDeepStrictEqual(there.every, { ...there.every, ...spec.every })) {
      throw error;
    }
  }
  return { scheduleId };
}

/** The schedule's code finds all due times of a backfill in one breath, and again in every replay. `SCHEDULE_INVALID`. */
async function checkBackfill(
  { engine, clock }: RouteParts,
  scheduleId: string,
  { from, to }: Asked<"backfillSchedule">["body"],
): Promise<void> {
  const { spec } = await engine.schedules.get(scheduleId);
  const endAt = Math.min(to, clock.now(), spec.endAt ?? Infinity);
  if (endAt < from) return;
  const times = engine.schedules.preview({ ...spec, endAt }, { from: from - 1, count: backfillMax + 1 });
  if (times.length <= backfillMax) return;
  throw new EngineError(
    "SCHEDULE_INVALID",
    `a backfill has at most ${backfillMax} due times, and there are more in that range: take a part of it at a time`,
  );
}

/** The checker writes down what was left out. */
function withoutUndefined(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
