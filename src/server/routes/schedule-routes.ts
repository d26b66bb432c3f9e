import { isDeepStrictEqual } from "node:util";
import type { DataOf, Immutable } from "../../api/routes.ts";
import { didYouMean } from "../../base/closest-name.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import type { ListedSchedule } from "../../engine/schedules.ts";
import { checkTarget } from "../../schedules/schedule-check.ts";
import type { ScheduleSpec } from "../../schedules/schedule-spec.ts";
import { workflowOf } from "../../schedules/schedule-workflow.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import { HttpError } from "../request/http-error.ts";
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

/** Number of due times in `getSchedule`. */
const timesShown = 5;

export function scheduleRoutes(parts: RouteParts): ScheduleRoutes {
  const { schedules } = parts.engine;
  return {
    listSchedules: async () => ({ items: (await schedules.list()).map(viewOf) }),
    createSchedule: (asked) => createSchedule(parts, asked),
    previewSchedule: ({ body }) => {
      const { from, count, ...timing } = body;
      const options = { count, ...(from !== undefined && { from }) };
      return { times: schedules.preview(timing, options) };
    },
    getSchedule: async ({ params }) => {
      const view = await schedules.get(params.id);
      const nextFireTimes = view.isEnabled ? schedules.preview(view.spec, { count: timesShown }) : [];
      return { ...viewOf(view), nextFireTimes };
    },
    changeSchedule: async ({ params, body }) => {
      await refuseOfCatalogue(parts, params.id);
      checkTarget(body);
      await schedules.change(params.id, body);
      return done;
    },
    deleteSchedule: async ({ params }) => {
      await refuseOfCatalogue(parts, params.id);
      await schedules.delete(params.id);
      return done;
    },
    pauseSchedule: (asked) => switchSchedule(parts, asked, false),
    resumeSchedule: (asked) => switchSchedule(parts, asked, true),
    triggerSchedule: async ({ params }) => ({ instanceId: await schedules.trigger(params.id) }),
    backfillSchedule: async ({ params, body }) => ({ runs: await schedules.backfill(params.id, body) }),
  };
}

async function createSchedule(
  { engine }: RouteParts,
  { body, isRepeat }: AuthorizedRequest<"createSchedule">,
): Promise<{ scheduleId: string }> {
  const { scheduleId, ...spec } = body;
  checkTarget(spec);
  try {
    await engine.schedules.create(scheduleId, spec);
  } catch (error) {
    if (!hasCode(error, "INSTANCE_EXISTS")) throw withWorkflowNames(engine, spec, error);
    if (!isRepeat) throw scheduleExists(scheduleId, error);
    // A retry after a lost answer: the existing schedule is the requested one.
    const there = (await engine.schedules.get(scheduleId)).spec;
    if (workflowOf(there) !== workflowOf(spec) || !isDeepStrictEqual(there.every, { ...there.every, ...spec.every })) {
      throw scheduleExists(scheduleId, error);
    }
  }
  return { scheduleId };
}

function scheduleExists(scheduleId: string, cause: unknown): EngineError {
  const message = `schedule ${preview(scheduleId)} exists already: change it, delete it first, or take another id`;
  return new EngineError("INSTANCE_EXISTS", message, { cause });
}

function withWorkflowNames(engine: RouteParts["engine"], { workflow }: ScheduleSpec, error: unknown): unknown {
  if (workflow === undefined || !hasCode(error, "WORKFLOW_UNKNOWN")) return error;
  const names = engine.listWorkflows().map(({ name }) => name);
  const message = `workflow ${preview(workflow)} is not registered${didYouMean(workflow, names)}`;
  return new EngineError("WORKFLOW_UNKNOWN", message, { cause: error });
}

/** True if the schedule belongs to the saved workflow of its name. `SCHEDULE_UNKNOWN`. */
async function isOfCatalogue({ engine, catalogue }: RouteParts, scheduleId: string): Promise<boolean> {
  const { spec } = await engine.schedules.get(scheduleId);
  return spec.workflow === scheduleId && (await catalogue.hasSchedule(scheduleId));
}

/** Refuses a schedule of a saved workflow, which would revert the change. `SCHEDULE_OWNED`. */
async function refuseOfCatalogue(parts: RouteParts, scheduleId: string): Promise<void> {
  if (!(await isOfCatalogue(parts, scheduleId))) return;
  const path = `/api/workflow/${encodeURIComponent(scheduleId)}`;
  throw new HttpError(
    "SCHEDULE_OWNED",
    `schedule ${preview(scheduleId)} belongs to the workflow of that name: use PUT ${path}/schedule to change it or to switch it off, or PUT ${path} with a cronExpr of null to take it away`,
  );
}

/** Pauses or resumes a schedule; that of a saved workflow is stored with the workflow. */
async function switchSchedule(
  parts: RouteParts,
  { params, caller }: AuthorizedRequest<"pauseSchedule" | "resumeSchedule">,
  enable: boolean,
): Promise<typeof done> {
  const { catalogue, engine } = parts;
  const { id } = params;
  if (await isOfCatalogue(parts, id)) await catalogue.setSchedule(id, { enable }, caller.name);
  else await (enable ? engine.schedules.resume(id) : engine.schedules.pause(id));
  return done;
}

/** Mapped types, unlike interfaces, fit schemas that keep unknown fields. */
function viewOf(schedule: Immutable<ListedSchedule>): DataOf<"listSchedules">["items"][number] {
  return schedule;
}
