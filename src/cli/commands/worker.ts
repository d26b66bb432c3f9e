import { type Command, Option } from "commander";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { countGiven } from "../given-value.ts";
import { moduleFiles } from "../module-files.ts";

interface WorkerOptions extends ClientOptions {
  readonly slots: string;
  readonly drainSeconds: string;
  readonly logLevel: string;
}

export function workerCommand(): Command {
  return clientCommand("worker", "Runs the jobs of modules for a server elsewhere.")
    .argument("<modules...>", "files that export jobs")
    .option("--slots <count>", "tasks that run at once", "10")
    .option("--drain-seconds <count>", "how long running tasks may take to end on a stop", "10")
    .addOption(
      new Option("--log-level <level>", "the least that is logged")
        .choices(["debug", "info", "warn", "error"])
        .default("info"),
    )
    .action(async (modules: string[], options: WorkerOptions) => {
      const session = sessionOf(options);
      // The jobs that run here have no use for it.
      delete process.env["HEDDLE_TOKEN"];
      const { runWorker } = await import("../run-worker.ts");
      await runWorker({
        modules: moduleFiles(modules),
        url: session.client.url,
        token: session.token,
        slots: countGiven("--slots", options.slots, 10_000),
        graceMs: countGiven("--drain-seconds", options.drainSeconds) * 1000,
        logLevel: options.logLevel,
      });
    });
}
