import { Command } from "commander";
import { relative } from "node:path";
import type { OnTaskLog } from "../../dispatch/task-log.ts";
import type { Server } from "../../server/server.ts";
import type { ServerConfig } from "../../server/config/server-config.ts";
import { writeAddress } from "../address-file.ts";
import { takeTokenOfEnvironment } from "../client-command.ts";
import { flagsGiven, withConfigFlags } from "../config-flags.ts";
import type { Doors } from "../doors.ts";
import { moduleFiles } from "../module-files.ts";
import type { StartParts } from "../serve.ts";
import { Output } from "../output.ts";
import { commandText } from "../program-name.ts";
import { untilStopped } from "../until-stopped.ts";
import { wordsLogger } from "../words-logger.ts";

type DevOptions = Readonly<Record<string, unknown>> & {
  readonly config?: string;
  readonly json?: boolean;
  readonly watch?: boolean;
};

export function devCommand(doors: Doors): Command {
  const command = new Command("dev")
    .description("A server for trying things out: on this machine alone, with its data in ./.heddle.")
    .argument("[modules...]", "files that export jobs and workflows; without any, there are examples")
    .option("--watch", "restarts when a source file below this folder changes")
    .option("--json", "one JSON document instead of words");
  return withConfigFlags(command).action(async (modules: string[], options: DevOptions) => {
    if (options.watch === true) return await watchThis();
    const wanted = await configFor(modules, options);
    const { freePort } = await import("../free-port.ts");
    const config = { ...wanted, port: await freePort(wanted.host, wanted.port) };
    const taskLines = new TaskLines(config.logLevel);
    const { server, first } = await start(config, { doors, onTaskLog: taskLines.print });
    const output = new Output(options);
    greet({ url: server.url, config, output, first, takenPort: config.port === wanted.port ? undefined : wanted.port });
    taskLines.begin();
    const address = writeAddress(config.data, server.url);
    const onSignal = (): void => output.say("\nStopping: what runs may finish. Ctrl-C again ends at once.");
    await untilStopped(server, { ended: Promise.race([server.stopped, server.engine.fenced]), onSignal });
    address.remove();
    output.say("Stopped. Everything is kept: the next start goes on from here.");
  });
}

/** The same command in a process of its own, without the flag. */
async function watchThis(): Promise<void> {
  const { watchSources } = await import("../watch-sources.ts");
  const [, file = "", ...args] = process.argv;
  const output = new Output({});
  // What runs is interrupted by the restart and runs again after it, at no charge.
  const drain = args.some((arg) => arg.startsWith("--drain-seconds")) ? [] : ["--drain-seconds", "1"];
  await watchSources({
    file,
    args: [...args.filter((arg) => arg !== "--watch"), ...drain],
    folder: process.cwd(),
    say: (text) => output.warn(text),
  });
}

async function configFor(modules: readonly string[], options: DevOptions): Promise<ServerConfig> {
  const { loadConfig } = await import("../../server/config/load-config.ts");
  const flags = flagsGiven(options);
  return loadConfig({
    flags: modules.length === 0 ? flags : { ...flags, app: moduleFiles(modules).join(",") },
    environment: process.env,
    file: options.config,
    defaults: { logLevel: "warn" },
  });
}

interface Started {
  readonly server: Server;
  /** A workflow to begin with. */
  readonly first: string | undefined;
}

async function start(
  config: ServerConfig,
  { doors, onTaskLog }: { doors: Doors; onTaskLog: OnTaskLog },
): Promise<Started> {
  const { startServer } = await import("../serve.ts");
  const logger = wordsLogger(config.logLevel);
  const adminToken = takeTokenOfEnvironment();
  const watchdog: StartParts["watchdog"] = { format: "words" };
  if (config.app.length > 0) {
    const { loadApp } = await import("../../server/config/app-modules.ts");
    const parts = await loadApp(config.app);
    return {
      server: await startServer(config, { doors, logger, adminToken, parts, onTaskLog, watchdog }),
      first: parts.workflows[0]?.name,
    };
  }
  const { examples, runExamples } = await import("../examples/examples.ts");
  const server = await startServer(config, { doors, logger, adminToken, parts: examples, onTaskLog, watchdog });
  try {
    const { HeddleClient } = await import("../../client/client.ts");
    const token = adminToken === undefined ? {} : { token: adminToken };
    await runExamples(new HeddleClient({ url: server.url, ...token }));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { server, first: examples.workflows[0]?.name };
}

/** Prints what jobs log at info, where the server's own log shows warnings alone; from the greeting on, not for the examples. */
class TaskLines {
  readonly #isNeeded: boolean;
  readonly #logger = wordsLogger("info");
  #hasBegun = false;

  constructor(logLevel: ServerConfig["logLevel"]) {
    this.#isNeeded = logLevel === "warn";
  }

  begin(): void {
    this.#hasBegun = this.#isNeeded;
  }

  readonly print: OnTaskLog = ({ level, instanceId, taskName, fields, message }) => {
    if (this.#hasBegun && level === "info") this.#logger.info(fields, `${instanceId} ${taskName}: ${message}`);
  };
}

interface Greeting {
  readonly url: string;
  readonly config: ServerConfig;
  readonly output: Output;
  readonly first: string | undefined;
  readonly takenPort: number | undefined;
}

function greet({ url, config, output, first, takenPort }: Greeting): void {
  const data = relative(process.cwd(), config.data);
  const next = commandText(`run ${first ?? "<workflow>"}`, url);
  output.give({ url, data: config.data, storage: shownStorage(config.storage), next }, () =>
    [
      `Heddle is at  ${output.colour("bold", url)}${takenPort === undefined ? "" : ` (port ${takenPort} is taken)`}`,
      `Its data are  ${data.startsWith("..") ? config.data : `./${data}`}`,
      `Next, try     ${output.colour("bold", next)}`,
    ].join("\n"),
  );
}

/** Without what may be a password. */
function shownStorage(address: string): string {
  return address.replace(/\/\/[^@/]*@/, "//");
}
