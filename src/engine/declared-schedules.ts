import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { aboutSchedule, type DeclaredSchedule } from "../schedules/declared-schedule.ts";
import type { Schedules } from "./schedules.ts";

export interface DeclaredSchedulesParts {
  readonly schedules: Pick<Schedules, "declare">;
  readonly logger: Logger;
}

/** Creates and changes the schedules that the program declares. A schedule that takes no changes now is left as it is. */
export async function declareSchedules(
  { schedules, logger }: DeclaredSchedulesParts,
  declared: readonly DeclaredSchedule[],
): Promise<void> {
  for (const { scheduleId, spec } of declared) {
    try {
      const effect = await schedules.declare(scheduleId, spec);
      if (effect !== "unchanged") logger.info({ scheduleId }, `schedule ${effect}, as the program declares it`);
    } catch (error) {
      // Its instance is paused or quarantined: that is for a user to resolve, and keeps nothing else from running.
      if (!hasCode(error, "INSTANCE_STATE")) throw aboutSchedule(scheduleId, error);
      logger.warn({ scheduleId, error: messageOf(error) }, "a declared schedule could not be brought up to date");
    }
  }
}
