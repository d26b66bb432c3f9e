import { Command } from "commander";
import { join } from "node:path";
import { leaveAddress } from "../address-file.ts";
import { takeTokenOfEnvironment } from "../client-command.ts";
import { flagsGiven, withConfigFlags } from "../config-flags.ts";
import type { Doors } from "../doors.ts";
import { untilStopped } from "../until-stopped.ts";

export function serverCommand(doors: Doors): Command {
  const command = new Command("server").description(
    "Run a production server: JSON logs, settings from a file, variables and flags.",
  );
  return withConfigFlags(command).action(async (options: Readonly<Record<string, unknown>>) => {
    const { loadConfig } = await import("../../server/config/load-config.ts");
    const config = loadConfig({
      flags: flagsGiven(options),
      environment: process.env,
      file: options["config"] as string | undefined,
    });
    const [{ startServer }, { pino }] = await Promise.all([import("../serve.ts"), import("pino")]);
    const logger = pino({ level: config.logLevel });
    const server = await startServer(config, {
      doors,
      logger,
      adminToken: takeTokenOfEnvironment(),
      watchdog: { endAfterMs: config.watchdogSeconds * 1000, format: "pino" },
    });
    // A database in the data folder is this server's alone; of others, several servers may run in one folder.
    if (config.storage === `sqlite:${join(config.data, "heddle.db")}`) leaveAddress(config.data, server.url);
    logger.info({ url: server.url, data: config.data }, "the server is ready");
    const onSignal = (): void => logger.info({}, "stopping: waiting for running tasks; a second signal exits at once");
    let fencedBy: Error | undefined;
    // Fenced: another engine owns the data. The process ends, and a supervisor may start it again.
    const fenced = server.engine.fenced.then((error) => (fencedBy = error));
    try {
      await untilStopped(server, { ended: Promise.race([server.stopped, fenced]), onSignal });
    } catch (error) {
      // A fenced engine cannot be stopped gracefully; the fence is the error to report.
      throw fencedBy ?? error;
    }
    if (fencedBy !== undefined) throw fencedBy;
    logger.info({}, "the server has stopped");
  });
}
