import { ofId } from "../../api/common-schemas.ts";
import { paths, type RouteName } from "../../api/paths.ts";
import { preview } from "../../base/preview.ts";
import { scheduleInstancePrefix } from "../../engine/schedules.ts";
import type { Handler } from "./handler.ts";
import { HttpError } from "../request/http-error.ts";

/** Operations that are safe for the instance of a schedule: a quarantined one can be resumed, an ended one deleted. */
const allowed: readonly RouteName[] = ["queryInstance", "resumeInstance", "deleteInstance"];

/** True if an operation on any instance is refused for the instances of schedules, which have operations of their own. */
export function isRefusedForSchedules(name: RouteName): boolean {
  return /^(POST|PUT|PATCH|DELETE) \/api\/instance\/\{id\}/.test(paths[name]) && !allowed.includes(name);
}

/** Wraps a handler: operations on instances refuse to change the instance of a schedule. */
export function protectSchedules<N extends RouteName>(name: N, handler: Handler<N>): Handler<N> {
  if (!isRefusedForSchedules(name)) return handler;
  return (asked) => {
    refuseScheduleInstance(ofId.parse(asked.params).id);
    return handler(asked);
  };
}

/** Refuses the instance of a schedule with `INSTANCE_OWNED`. */
export function refuseScheduleInstance(instanceId: string): void {
  if (!instanceId.startsWith(scheduleInstancePrefix)) return;
  const scheduleId = instanceId.slice(scheduleInstancePrefix.length);
  const path = `/api/schedule/${encodeURIComponent(scheduleId)}`;
  throw new HttpError(
    "INSTANCE_OWNED",
    `instance ${preview(instanceId)} is schedule ${preview(scheduleId)}: use PUT or DELETE ${path}, or POST pause, resume, trigger or backfill below it (heddle schedule)`,
  );
}
