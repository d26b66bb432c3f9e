import { Command } from "commander";
import { existsSync, mkdirSync } from "node:fs";
import { relative } from "node:path";
import type { OnTaskLog } from "../../dispatch/task-log.ts";
import type { AppParts } from "../../server/config/app-modules.ts";
import type { Server } from "../../server/server.ts";
import type { ServerConfig } from "../../server/config/server-config.ts";
import { leaveAddress } from "../address-file.ts";
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
  readonly demo?: boolean;
};

export function devCommand(doors: Doors): Command {
  const command = new Command("dev")
    .description("Run a development server on this machine, with its data in ./.heddle.")
    .argument("[modules...]", "files that export jobs and workflows; default: built-in examples")
    .option("--watch", "restart when a source file below this folder changes")
    .option(
      "--demo",
      "run a busy company's forty workflows instead of the examples, with a week of history if ./.heddle is new",
    )
    .option("--json", "print one JSON document");
  return withConfigFlags(command).action(async (modules: string[], options: DevOptions) => {
    if (options.watch === true) return await watchThis();
    const wanted = await configFor(modules, options);
    const { freePort } = await import("../free-port.ts");
    const config = {
      ...wanted,
      port: await freePort(wanted.host, wanted.port),
      grpcPort: await freeGrpcPort(wanted),
    };
    const taskLines = new TaskLines(config.logLevel);
    const isDemo = options.demo === true;
    const { server, next } = await (isDemo
      ? startDemo(config, doors)
      : start(config, { doors, onTaskLog: taskLines.print }));
    const output = new Output(options);
    leaveAddress(config.data, server.url);
    greet({
      url: server.url,
      grpcPort: server.grpcPort,
      config,
      output,
      next,
      takenPort: config.port === wanted.port ? undefined : wanted.port,
    });
    if (!isDemo) taskLines.begin();
    const onSignal = (): void =>
      output.say("\nStopping: waiting for running tasks. Press Ctrl-C again to stop at once.");
    await untilStopped(server, { ended: Promise.race([server.stopped, server.engine.fenced]), onSignal });
    output.say("Stopped. All data are kept; the next start continues from here.");
  });
}

const grpcPort = 4001;

/** The port of the Durable Task protocol: as set, or its usual one if that is free and its package is installed. */
async function freeGrpcPort({ host, port, grpcPort: wanted }: ServerConfig): Promise<number | undefined> {
  if (wanted !== undefined) return wanted;
  const [{ freePort }, { hasGrpc }] = await Promise.all([
    import("../free-port.ts"),
    import("../../server/durabletask/grpc-module.ts"),
  ]);
  if (!(await hasGrpc())) return undefined;
  // A free port for HTTP means a free one here too.
  return port === 0 ? 0 : await freePort(host, grpcPort);
}

/** Runs the same command without `--watch` in a child process, and restarts it on changes. */
async function watchThis(): Promise<void> {
  const { watchSources } = await import("../watch-sources.ts");
  const [, file = "", ...args] = process.argv;
  const output = new Output({});
  // The restart interrupts running attempts; they run again without using up a retry.
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
  /** The command that the greeting suggests. */
  readonly next: string;
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
      next: firstCommand(parts),
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
  return { server, next: firstCommand(examples) };
}

/** A server that is never idle, for those who want to see one. */
async function startDemo(config: ServerConfig, doors: Doors): Promise<Started> {
  const [{ demoParts, keepBusy, runPast }, { startServer }, { HeddleClient }] = await Promise.all([
    import("../demo/demo.ts"),
    import("../serve.ts"),
    import("../../client/client.ts"),
  ]);
  if (!existsSync(config.data)) {
    new Output({}).warn("Living through a week of history …");
    mkdirSync(config.data, { recursive: true, mode: 0o700 });
    await runPast(doors, await doors.storage(config.storage));
  }
  const adminToken = takeTokenOfEnvironment();
  const logger = wordsLogger("error");
  const server = await startServer(config, {
    doors,
    logger,
    adminToken,
    parts: demoParts,
    watchdog: { format: "words" },
  });
  const token = adminToken === undefined ? {} : { token: adminToken };
  const rest = await keepBusy(new HeddleClient({ url: server.url, ...token }));
  void server.stopped.then(rest);
  return { server, next: firstCommand(demoParts) };
}

/** Modules may export jobs without any workflow. */
function firstCommand({ jobs, workflows }: AppParts): string {
  if (workflows[0] !== undefined) return `run ${workflows[0].name}`;
  return jobs[0] === undefined ? "run <workflow>" : `job run ${jobs[0].name}`;
}

/** Prints the info lines of jobs if the server's own log shows warnings only. Begins after the greeting, so that examples stay quiet. */
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
  readonly grpcPort: number | undefined;
  readonly config: ServerConfig;
  readonly output: Output;
  readonly next: string;
  readonly takenPort: number | undefined;
}

function greet({ url, grpcPort: port, config, output, takenPort, ...started }: Greeting): void {
  const data = relative(process.cwd(), config.data);
  const next = commandText(started.next, url);
  const grpc = port === undefined ? undefined : `${config.host}:${port}`;
  output.give({ url, ...(grpc && { grpc }), data: config.data, storage: shownStorage(config.storage), next }, () =>
    [
      `Heddle is at  ${output.colour("bold", url)}${takenPort === undefined ? "" : ` (port ${takenPort} is taken)`}`,
      ...(grpc === undefined ? [] : [`Dapr, gRPC    ${grpc}`]),
      `Its data are  ${data.startsWith("..") ? config.data : `./${data}`}`,
      `Next, try     ${output.colour("bold", next)}`,
    ].join("\n"),
  );
}

/** Removes user and password from a store address. */
function shownStorage(address: string): string {
  return address.replace(/\/\/[^@/]*@/, "//");
}
