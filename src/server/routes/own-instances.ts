import { paths, type RouteName } from "../../api/paths.ts";
import { preview } from "../../base/preview.ts";
import { scheduleInstancePrefix } from "../../engine/schedules.ts";
import type { Handlers } from "../http/handler.ts";
import { HttpError } from "../request/http-error.ts";

/** Operations that are safe for the instance of a schedule: a quarantined one can be resumed, an ended one deleted. */
const allowed: readonly RouteName[] = ["queryInstance", "resumeInstance", "deleteInstance"];

/** True if an operation on any instance is refused for the instances of schedules, which have operations of their own. */
export function isRefusedForSchedules(name: RouteName): boolean {
  return /^(POST|PUT|PATCH|DELETE) \/api\/instance\/\{id\}/.test(paths[name]) && !allowed.includes(name);
}

/** Wraps the handlers: operations on instances refuse to change the instance of a schedule. */
export function protectSchedules(handlers: Handlers): Handlers {
  return Object.fromEntries(Object.entries(handlers).map(protect)) as Handlers;
}

function protect([name, handler]: [string, unknown]): [string, unknown] {
  return isRefusedForSchedules(name as RouteName)
    ? [name, protectedHandler(handler as InstanceHandler)]
    : [name, handler];
}

type InstanceHandler = (asked: { readonly params: { readonly id: string } }) => unknown;

function protectedHandler(handler: InstanceHandler): InstanceHandler {
  return async (asked) => {
    refuseScheduleInstance(asked.params.id);
    return await handler(asked);
  };
}

/** Refuses the instance of a schedule with `INSTANCE_OWNED`. */
function refuseScheduleInstance(instanceId: string): void {
  if (!instanceId.startsWith(scheduleInstancePrefix)) return;
  const scheduleId = instanceId.slice(scheduleInstancePrefix.length);
  const path = `/api/schedule/${encodeURIComponent(scheduleId)}`;
  throw new HttpError(
    "INSTANCE_OWNED",
    `instance ${preview(instanceId)} is schedule ${preview(scheduleId)}: use PUT or DELETE ${path}, or POST pause, resume, trigger or backfill below it (heddle schedule)`,
  );
}
