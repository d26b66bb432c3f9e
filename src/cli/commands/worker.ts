import { type Command, Option } from "commander";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { readyMadeGiven, withReadyMadeFlags } from "../config-flags.ts";
import { countGiven } from "../given-value.ts";
import { moduleFiles } from "../module-files.ts";

interface WorkerOptions extends ClientOptions, Readonly<Record<string, unknown>> {
  readonly urls?: string;
  readonly slots: string;
  readonly tags?: string;
  readonly drainSeconds: string;
  readonly logLevel: string;
}

export function workerCommand(): Command {
  const command = clientCommand("worker", "Run a remote worker: executes jobs for a server.")
    .argument("[modules...]", "files that export jobs; may be left out with --ready-made-jobs")
    .option("--urls <addresses>", "servers of a cluster, separated by commas: it goes to another when its own is gone")
    .option("--slots <count>", "maximum number of tasks at a time", "10")
    .option("--tags <tags>", "tags that tasks may require, separated by commas: gpu,eu")
    .option("--drain-seconds <count>", "grace period for running tasks on shutdown", "10")
    .addOption(
      new Option("--log-level <level>", "minimum log level")
        .choices(["debug", "info", "warn", "error"])
        .default("info"),
    );
  return withReadyMadeFlags(command).action(async (modules: string[], options: WorkerOptions) => {
    const session = sessionOf(options);
    // Jobs that run in this process must not see the token.
    delete process.env["HEDDLE_TOKEN"];
    const readyMade = await readyMadeGiven(options);
    const { runWorker } = await import("../run-worker.ts");
    await runWorker({
      modules: moduleFiles(modules),
      readyMade,
      urls: options.urls?.split(",") ?? [session.client.url],
      token: session.token,
      namespace: session.namespace,
      slots: countGiven("--slots", options.slots, 10_000),
      tags: options.tags?.split(",") ?? [],
      drainMs: countGiven("--drain-seconds", options.drainSeconds) * 1000,
      logLevel: options.logLevel,
    });
  });
}
