import type { Logger } from "../base/logger.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { WatchdogOptions } from "../engine/watchdog.ts";
import { type AppParts, loadApp } from "../server/config/app-modules.ts";
import type { ServerConfig } from "../server/config/server-config.ts";
import { Server } from "../server/server.ts";
import type { Doors } from "./doors.ts";
import { readyMadeJobsOf } from "./ready-made-jobs-of.ts";

export interface StartParts {
  readonly doors: Doors;
  readonly parts?: AppParts;
  readonly adminToken: string | undefined;
  readonly logger: Logger;
  readonly onTaskLog?: OnTaskLog;
  readonly watchdog: Omit<WatchdogOptions, "warnAfterMs">;
}

/** Starts a server with the given configuration and the program's own parts. */
export async function startServer(
  config: ServerConfig,
  { doors, parts, adminToken, logger, onTaskLog, watchdog }: StartParts,
): Promise<Server> {
  const { jobs, workflows, schedules = [] } = parts ?? (await loadApp(config.app));
  const { bus, nats } = config.cluster;
  const own = await readyMadeJobsOf(config.readyMade);
  return await Server.start(config, {
    store: await doors.storage(config.storage),
    bus: bus?.includes(":") === true ? await doors.bus(bus, nats) : undefined,
    jobs: [...jobs, ...own],
    workflows,
    schedules,
    adminToken,
    logger,
    onTaskLog,
    watchdog: showsWarnings(config.logLevel) ? watchdog : { ...watchdog, warnAfterMs: 0 },
  });
}

function showsWarnings(logLevel: ServerConfig["logLevel"]): boolean {
  return logLevel !== "error" && logLevel !== "silent";
}
