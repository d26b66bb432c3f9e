import { type Command, Option } from "commander";
import { HeddleClientError } from "../../client/client-error.ts";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
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
      await refuseStranger(session);
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

/**
 * A worker may be there before its server; but whoever is not let in should hear it now. The link itself is asked, without
 * an upgrade: a worker's token may do nothing else.
 */
async function refuseStranger({ client, token }: Session): Promise<void> {
  let answer: Response;
  try {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    answer = await fetch(`${client.url}/ws/worker`, { headers });
  } catch {
    // Not there yet: the worker tries again and again.
    return;
  }
  const { status } = answer;
  if (status !== 401 && status !== 403) return await answer.body?.cancel();
  const code = status === 401 ? "UNAUTHORIZED" : "FORBIDDEN";
  const { message } = (await answer.json().catch(() => ({}))) as { message?: unknown };
  const reason = typeof message === "string" ? message : "the worker is not let in";
  throw new HeddleClientError(reason, { code, status });
}
