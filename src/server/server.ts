import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import type { Workflow } from "../authoring/workflow.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Bus } from "../cluster/bus.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { Catalogue, FileEdit } from "../catalogue/catalogue.ts";
import { DefinitionFolder } from "../catalogue/definition-folder.ts";
import { Git } from "../catalogue/git.ts";
import { Engine } from "../engine/engine.ts";
import { ownVersion } from "../engine/own-version.ts";
import { stderrLogger } from "../engine/stderr-logger.ts";
import { systemClock } from "../engine/system-clock.ts";
import type { WatchdogOptions } from "../engine/watchdog.ts";
import type { DeclaredSchedule } from "../schedules/declared-schedule.ts";
import type { Store } from "../stores/store.ts";
import { exportTraces } from "../telemetry/otlp.ts";
import type { ServerConfig } from "./config/server-config.ts";
import { engineOptionsOf } from "./engine-options.ts";
import { enterNamespaces } from "./enter-namespaces.ts";
import { HeldStore } from "./held-store.ts";
import { makeHttpApp } from "./http/http-app.ts";
import { Deadlines } from "./http/deadlines.ts";
import { RequestKeys } from "./http/request-keys.ts";
import type { Handlers } from "./http/handler.ts";
import { mountRoutes } from "./http/route-table.ts";
import { daprRoutes } from "./durabletask/dapr-routes.ts";
import { GrpcServer, type GrpcServerParts } from "./durabletask/grpc-server.ts";
import { loadGrpc } from "./durabletask/grpc-module.ts";
import { TaskHub } from "./durabletask/task-hub.ts";
import { type ServerNamespace, ServerNamespaces } from "./namespaces.ts";
import { Observers } from "./observers.ts";
import { findConsoleFolder } from "./console/console-files.ts";
import { consoleRoutes } from "./console/console-routes.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { pushRoutes } from "./push/push-routes.ts";
import { Readiness } from "./health/readiness.ts";
import { actuatorRoutes } from "./routes/actuator-routes.ts";
import { handlersOf } from "./routes/handlers.ts";
import { Audit } from "./security/audit.ts";
import { fileEditEntry } from "./security/audit-entry.ts";
import { Guard } from "./security/guard.ts";
import { sessionRoutes } from "./security/session-routes.ts";
import { isLoopbackHost } from "./security/origin-check.ts";
import { readTlsFiles } from "./security/tls-files.ts";
import { Tokens } from "./security/tokens.ts";
import { StoreHealth } from "./health/store-health.ts";
import { workerRoutes } from "./worker-link.ts";

/** What a server is made of, besides its configuration. */
export interface ServerParts {
  /** The store, such as `storage(config.storage)` of `heddle/storage`. */
  readonly store: Store;
  /** The bus, for a setting `cluster.bus` that is an address, such as `nats(config.cluster.bus, config.cluster.nats)` of `heddle/nats`. */
  readonly bus?: Bus | undefined;
  readonly jobs?: readonly Job[];
  readonly workflows?: readonly (Workflow | CodeWorkflow)[];
  readonly schedules?: readonly DeclaredSchedule[];
  /** Admin token of the environment. */
  readonly adminToken?: string | undefined;
  /** Default: warnings and errors, as JSON lines on standard error. */
  readonly logger?: Logger;
  /** Called with every log line of jobs, in addition to the store. */
  readonly onTaskLog?: OnTaskLog | undefined;
  /** The engine's option `watchdog`. `heddle server` derives it from the setting `watchdogSeconds`. */
  readonly watchdog?: boolean | WatchdogOptions;
}

const clock = systemClock;

const dayMs = 86_400_000;

/** Minimum length of a secret that a user chooses; generated ones have 47 characters. */
const secretLengthMin = 16;

/** An engine with its store, catalogue and HTTP interface. */
export class Server {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly logger: Logger;
  /** Resolves when the server has stopped, for whatever reason. */
  readonly stopped: Promise<void>;
  readonly #config: ServerConfig;
  readonly #parts: ServerParts;
  readonly #store: Store;
  readonly #held: HeldStore;
  readonly #storeHealth: StoreHealth;
  readonly #observers: Observers;
  readonly #readiness: Readiness;
  readonly #tokens: Tokens;
  readonly #keys: RequestKeys;
  readonly #namespaces: ServerNamespaces;
  readonly #audit: Audit;
  readonly #stopping = new AbortController();
  readonly #whenStopped = Promise.withResolvers<void>();
  /** Started parts, which are stopped in reverse order. */
  readonly #started = new AsyncDisposableStack();
  #address: ServerAddress = { url: "", grpcPort: undefined };
  #stop: Promise<void> | undefined;

  /** Starts a server; resolves when it answers requests. `OPTION_INVALID` names the setting; also the store's errors. */
  static async start(config: ServerConfig, parts: ServerParts): Promise<Server> {
    const server = new Server(config, parts);
    try {
      await server.#start();
      return server;
    } catch (error) {
      await server.#takeBack();
      throw error;
    }
  }

  private constructor(config: ServerConfig, parts: ServerParts) {
    this.#config = config;
    this.#parts = parts;
    this.stopped = this.#whenStopped.promise;
    this.#observers = new Observers({ ...parts, config, clock, logger: parts.logger ?? stderrLogger });
    const { store, logger } = this.#observers;
    this.logger = logger;
    this.#store = store;
    this.#storeHealth = new StoreHealth(store, clock);
    this.#held = new HeldStore(this.#storeHealth.storage);
    this.engine = new Engine({
      ...engineOptionsOf(config, store, parts.bus),
      ...this.#observers.engineOptions,
      storage: this.#held.storage,
      jobs: parts.jobs ?? [],
      // Without that role no task runs in this process.
      runsJobs: config.roles.includes("worker"),
      workflows: parts.workflows ?? [],
      schedules: parts.schedules ?? [],
      ...(parts.watchdog !== undefined && { watchdog: parts.watchdog }),
      logger,
    });
    this.#observers.watch(this.engine);
    this.#readiness = new Readiness(this.engine, this.#storeHealth);
    const { engine } = this;
    const folder = folderOf(config, logger);
    const audit = new Audit({ store, clock, logger, keepMs: config.auditRetentionDays * dayMs });
    this.#audit = audit;
    const onFileEdit = (edit: FileEdit): Promise<void> => audit.append(fileEditEntry(edit));
    const { jobs = [], workflows = [] } = parts;
    this.#namespaces = new ServerNamespaces({
      engine,
      store,
      clock,
      logger,
      folder: { onFileEdit, ...(folder && { folder }) },
      namespaces: config.namespaces,
      jobs,
      workflows,
    });
    this.catalogue = this.#namespaces.get(engine.namespace).catalogue;
    this.#tokens = new Tokens({ store, clock, logger, given: config.tokens, adminSecret: parts.adminToken });
    this.#keys = new RequestKeys({ store, clock, logger });
  }

  /** URL of the server. */
  get url(): string {
    return this.#address.url;
  }

  /** Port of the Durable Task protocol; undefined if it is not spoken. */
  get grpcPort(): number | undefined {
    return this.#address.grpcPort;
  }

  async #start(): Promise<void> {
    const { otlpUrl } = this.#config;
    const started = this.#started;
    if (otlpUrl !== undefined)
      started.defer(await exportTraces({ url: otlpUrl, serviceName: "heddle", logger: this.logger }));
    this.#refuseGuessableToken();
    const { app, grpc } = await this.#makeApp();
    let closing: Promise<void> | undefined;
    const closeApp = (): Promise<void> => (closing ??= this.#closeApp(app));
    started.defer(closeApp);
    // A server that cannot have its port must not have run tasks; until it is up, it answers with 503.
    const url = await this.#listen(app);
    const closeGrpc = async (): Promise<void> => await grpc?.close(this.#config.drainSeconds * 1000);
    started.defer(closeGrpc);
    this.#address = { url, grpcPort: await grpc?.listen(this.#config.host, this.#config.grpcPort ?? 0) };
    started.defer(() => this.#held.closeStore());
    await this.#held.storage.open();
    await this.#tokens.start();
    started.defer(() => this.#tokens.stop());
    this.#refuseToBeOpen();
    await this.engine.start();
    started.defer(() => this.#observers.stop());
    started.defer(() => this.#stopEngine());
    this.#observers.start();
    this.#audit.start();
    started.defer(() => this.#audit.stop());
    started.defer(() => this.#namespaces.stop());
    await this.#namespaces.start();
    this.#keys.start();
    started.defer(() => this.#keys.stop());
    started.defer(() => this.#namespaces.stopFeeds());
    started.defer(closeApp);
    this.#readiness.becomeUp();
  }

  /** Stops the parts after a failed start; further errors are logged only. */
  async #takeBack(): Promise<void> {
    try {
      await this.#started.disposeAsync();
    } catch (error) {
      this.logger.error({ error: messageOf(error) }, "the server could not be stopped gracefully after a failed start");
    }
  }

  #refuseGuessableToken(): void {
    const { host } = this.#config;
    const { adminToken = "" } = this.#parts;
    if (isLoopbackHost(host) || adminToken === "" || adminToken.length >= secretLengthMin) return;
    throw new EngineError(
      "OPTION_INVALID",
      `HEDDLE_TOKEN can be guessed: on host ${host} it needs at least ${secretLengthMin} characters, chosen at random`,
    );
  }

  /**
   * Refuses to start without tokens on any but the loopback address, because every caller would be an admin. Tokens may
   * be in the store, so it is open by then, but no task has run.
   */
  #refuseToBeOpen(): void {
    const { host } = this.#config;
    if (isLoopbackHost(host) || !this.#tokens.isEmpty) return;
    throw new EngineError(
      "OPTION_INVALID",
      `host ${host} can be reached from other machines, and nobody has a token yet: start once with HEDDLE_TOKEN set to a secret of your own, or on 127.0.0.1 make one with "heddle token create <name> --role admin"`,
    );
  }

  async #makeApp(): Promise<{ app: FastifyInstance; grpc: GrpcServer | undefined }> {
    const { engine, logger } = this;
    const { host, corsOrigins, bodyLimitBytes, rateLimitPerSecond, tls, logLevel } = this.#config;
    const requestTimeoutMs = this.#config.requestTimeoutSeconds * 1000;
    const { taskLogs, metrics } = this.#observers;
    const tokens = this.#tokens;
    const store = this.#store;
    const isLoopback = isLoopbackHost(host);
    const version = ownVersion();
    const origins = { isLoopback, origins: corsOrigins };
    const audit = this.#audit;
    const tlsFiles = tls && (await readTlsFiles(tls));
    const app = await makeHttpApp({
      logger,
      audit,
      readiness: this.#readiness,
      requestTimeoutMs,
      origins,
      version,
      logsRequests: logLevel === "debug",
      tls: tlsFiles,
    });
    const guard = new Guard({ tokens, clock, isLoopback, ratePerSecond: rateLimitPerSecond });
    const ofProgram = new Set((this.#parts.workflows ?? []).map(({ name }) => name));
    const stopping = this.#stopping.signal;
    const deadlines = new Deadlines(clock);
    this.#started.defer(() => deadlines.stop());
    const shared = {
      process: engine,
      store,
      taskLogs,
      tokens,
      audit,
      clock,
      deadlines,
      logger,
      ofProgram,
      folder: this.#config.workflows,
      listNamespaces: () => this.#namespaces.names,
      stopping,
    };
    enterNamespaces(app, this.#namespaces);
    const inNamespace = (namespace: string): ServerNamespace => this.#namespaces.find(namespace);
    const ofSpace = makeOnce((space: ServerNamespace) => handlersOf({ ...space, ...shared }));
    const handlersIn = (namespace: string): Handlers => ofSpace(inNamespace(namespace));
    await pushRoutes(app, { inNamespace, logs: taskLogs, guard, origins });
    await workerRoutes(app, { engine, guard, audit });
    pageRoutes(app);
    consoleRoutes(app, findConsoleFolder());
    sessionRoutes(app, { guard, audit, clock, version, isTls: tls !== undefined });
    const answerMs = requestTimeoutMs;
    const [keys, storeHealth] = [this.#keys, this.#storeHealth];
    const hubIn = this.#makeHubs();
    const limits = { deadlines, logger, bodyLimitBytes, answerMs };
    await daprRoutes(app, { hubIn, guard, audit, readiness: this.#readiness, storeHealth, version, ...limits });
    mountRoutes(app, { handlersIn, guard, audit, keys, storeHealth, ...limits });
    actuatorRoutes(app, {
      engine,
      metrics,
      guard,
      audit,
      readiness: this.#readiness,
      info: { name: "heddle", version, node: process.version, startedAt: clock.now() },
      shutDown: () => void this.stop(),
    });
    return { app, grpc: await this.#makeGrpc({ guard, deadlines, tls: tlsFiles }, hubIn) };
  }

  /** The operations of Durable Task and Dapr in each namespace. */
  #makeHubs(): (namespace: string) => TaskHub {
    const { engine } = this;
    const parts = { store: this.#store, taskLogs: this.#observers.taskLogs, clock };
    const hubOf = makeOnce(
      (space: ServerNamespace) =>
        new TaskHub({ ...space, ...parts, hosting: () => engine.codeHosting(space.namespace) }),
    );
    return (namespace) => hubOf(this.#namespaces.find(namespace));
  }

  async #makeGrpc(
    parts: Pick<GrpcServerParts, "guard" | "deadlines" | "tls">,
    hubIn: (namespace: string) => TaskHub,
  ): Promise<GrpcServer | undefined> {
    const { grpcPort, bodyLimitBytes, requestTimeoutSeconds } = this.#config;
    if (grpcPort === undefined) return undefined;
    const namespaces = this.#namespaces;
    return new GrpcServer({
      ...parts,
      grpc: await loadGrpc(),
      clock,
      audit: this.#audit,
      enter: (namespace, isChange) => {
        if (isChange) namespaces.get(namespace);
        const leave = namespaces.visit(namespace);
        return { hub: hubIn(namespace), leave };
      },
      readiness: this.#readiness,
      storeHealth: this.#storeHealth,
      logger: this.logger,
      bodyLimitBytes,
      answerMs: requestTimeoutSeconds * 1000,
      stopping: this.#stopping.signal,
    });
  }

  async #listen(app: FastifyInstance): Promise<string> {
    const { host, port, tls } = this.#config;
    try {
      await app.listen({ host, port });
    } catch (error) {
      throw new EngineError("OPTION_INVALID", `cannot listen on ${host}, port ${port}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    const { port: given } = app.server.address() as AddressInfo;
    return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${given}`;
  }

  /** Stops gracefully: accepted requests are answered, running tasks have their grace period, the rest continues at the next start. */
  stop(): Promise<void> {
    this.#stop ??= this.#stopAll();
    return this.#stop;
  }

  async #stopAll(): Promise<void> {
    this.#readiness.becomeStopping();
    this.#stopping.abort();
    // Begins before requests and tasks are waited for, so that other members answer for the instances meanwhile.
    void this.#handOver();
    try {
      await this.#started.disposeAsync();
    } finally {
      this.#whenStopped.resolve();
    }
  }

  /** Closes connections; those still busy after the time limit are destroyed. */
  async #closeApp(app: FastifyInstance): Promise<void> {
    const late = clock.after(this.#config.drainSeconds * 1000, () => app.server.closeAllConnections());
    await app.close();
    late.cancel();
  }

  async #handOver(): Promise<void> {
    if (this.engine.health.status !== "up") return;
    try {
      await this.engine.handOver();
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, "shards are not handed over before the running tasks have ended");
    }
  }

  async #stopEngine(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = clock.after(this.#config.drainSeconds * 1000, late.resolve);
    try {
      await Promise.race([this.engine.drain(), late.promise]);
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, "running tasks could not be drained");
    }
    timer.cancel();
    await this.engine.stop();
  }
}

interface ServerAddress {
  readonly url: string;
  readonly grpcPort: number | undefined;
}

/** The same function, which makes the value of each key once and forgets it with the key. */
function makeOnce<Key extends object, Value extends object>(make: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) values.set(key, (value = make(key)));
    return value;
  };
}

function folderOf({ workflows, git }: ServerConfig, logger: Logger): DefinitionFolder | undefined {
  if (workflows === undefined) return undefined;
  return new DefinitionFolder({ path: workflows, logger, ...(git && { git: new Git() }) });
}
