import { EngineError, hasCode, messageOf } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { ClusterMember } from "../member/cluster-member.ts";
import type { LoneWorkers } from "../member/lone-workers.ts";
import type { Region } from "../runtime/region.ts";
import type { StoreProbe } from "../runtime/store-probe.ts";
import { refuseHalfImported } from "../stores/importer.ts";
import type { EngineState } from "./engine-state.ts";
import type { Executor } from "./executor.ts";
import type { Maintenance } from "./maintenance.ts";
import type { ResolvedOptions } from "./options.ts";
import type { OutageDeadline } from "./outage-deadline.ts";
import type { Relay } from "./relay.ts";
import type { ProcessCode } from "./process-code.ts";
import type { Watchdog } from "./watchdog.ts";

export interface LifeCycleParts {
  readonly options: ResolvedOptions;
  readonly state: EngineState;
  readonly dispatcher: Dispatcher;
  readonly executor: Executor;
  readonly region: Region;
  /** Undefined for an engine alone on its store. */
  readonly member: ClusterMember | undefined;
  readonly loneWorkers: LoneWorkers | undefined;
  /** Records jobs and workflows in the store. */
  readonly record: () => Promise<void>;
  readonly processCode: ProcessCode;
  readonly watchdog: Watchdog | undefined;
  readonly maintenance: Maintenance;
  readonly storeProbe: StoreProbe;
  readonly outage: OutageDeadline;
  /** Undefined for an engine alone on its store. */
  readonly relay: Relay | undefined;
  /** The name under which this process would own shards. */
  readonly address: () => string;
}

/** Starts and stops the parts of an engine in order, and reacts when the store is away or belongs to another engine. */
export class LifeCycle {
  readonly #parts: LifeCycleParts;

  constructor(parts: LifeCycleParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { state, options, watchdog, maintenance, storeProbe, loneWorkers } = this.#parts;
    state.beginStart();
    try {
      await options.storage.open();
    } catch (error) {
      state.stage = "new";
      throw error;
    }
    watchdog?.start();
    try {
      await this.#openParts();
    } catch (error) {
      await this.#abandonStart();
      throw error;
    }
    maintenance.start();
    storeProbe.start();
    loneWorkers?.start();
    state.stage = "up";
  }

  async #openParts(): Promise<void> {
    const { options, member, loneWorkers, region, record, processCode, address } = this.#parts;
    await this.#settleShardCount();
    // A heartbeat of no member changes nothing, and shows the state of the shards.
    refuseHalfImported((await options.storage.heartbeat(address())).shards);
    if (member === undefined) await this.#restoreDomains();
    await record();
    await loneWorkers?.restore();
    processCode.start();
    await (member ?? region).open();
  }

  /** Undoes a failed start. If nothing runs, the engine can be started again; but a member joins only once. */
  async #abandonStart(): Promise<void> {
    const { state, options, dispatcher, executor, member, loneWorkers, processCode, watchdog } = this.#parts;
    processCode.stop();
    await loneWorkers?.stop();
    await watchdog?.stop();
    const isIdle = dispatcher.status.waitingCount + dispatcher.status.runningCount === 0;
    state.stage = isIdle && member?.hasJoined !== true ? "new" : "stopped";
    if (state.stage === "stopped") await executor.shutdown();
    await options.storage.close();
  }

  async stop(): Promise<void> {
    const { state, options, dispatcher, executor, region, member, processCode, watchdog } = this.#parts;
    const { maintenance, storeProbe, outage, loneWorkers, relay } = this.#parts;
    state.beginStop();
    const workersNoted = loneWorkers?.stop();
    relay?.follower.stop();
    maintenance.stop();
    storeProbe.stop();
    outage.stop();
    if (!dispatcher.isShutDown) await executor.shutdown();
    await workersNoted;
    try {
      if (state.whyDegraded !== undefined) region.giveUp();
      await (member ?? region).close();
    } finally {
      state.stage = "stopped";
      relay?.stop();
      processCode.stop();
      await watchdog?.stop();
      await options.storage.close();
    }
    if (state.rolledBackBy !== undefined) throw state.rolledBackBy;
  }

  async #settleShardCount(): Promise<void> {
    const { storage, cluster } = this.#parts.options;
    const wanted = cluster?.shards ?? 1;
    const settled = await storage.settleShardCount(wanted);
    if (settled === wanted) return;
    throw new EngineError("OPTION_INVALID", shardCountProblem(settled, cluster));
  }

  /** Domains that were declared at runtime, but for those that the options name: their size there is in force again. */
  async #restoreDomains(): Promise<void> {
    const { executor, options } = this.#parts;
    const { storage, domains, logger } = options;
    const declared = (await storage.loadDomains()).filter(({ name }) => !Object.hasOwn(domains, name));
    for (const { domain, error } of executor.restoreDomains(declared)) {
      logger.warn(
        { domain: localName(domain), error: error.message },
        "a domain that was declared at runtime does not fit into the pool",
      );
    }
  }

  /** `problem`: why the store takes no writes; undefined when it takes them again. */
  onHealth(problem: unknown): void {
    const { state, outage, dispatcher, region } = this.#parts;
    state.problem = problem;
    outage.onHealth(problem);
    if (problem === undefined) return dispatcher.resumeDispatch();
    dispatcher.pauseDispatch();
    if (state.stage === "stopping") region.giveUp();
  }

  /** A shard is lost: in a cluster another member takes over, otherwise the whole engine is fenced. */
  onFenced(shard: number, error: unknown): void {
    const { state, member, dispatcher, options } = this.#parts;
    if (member !== undefined) return member.onShardLost(shard);
    if (state.rolledBackBy !== undefined) return;
    const { logger } = options;
    if (!hasCode(error, "STORE_FENCED")) {
      // The engine was stopped while the store took no writes. The next start repeats what was not written.
      logger.warn(
        { error: messageOf(error) },
        "the engine stops without its last writes: the store does not take them",
      );
      return;
    }
    dispatcher.pauseDispatch();
    logger.error({ error: messageOf(error) }, "this engine no longer owns its data and does nothing more");
    state.onFenced(error);
  }

  /** The store went back to an earlier state: nothing in memory is true any more, and nothing of it may be written. */
  onRolledBack(error: EngineError): void {
    const { state, member, region, dispatcher, options, relay } = this.#parts;
    options.logger.error(
      { error: error.message },
      "the store was rolled back; this engine stops and does nothing more",
    );
    state.onRolledBack(error);
    dispatcher.pauseDispatch();
    relay?.stop();
    if (member === undefined) region.loseAll(error);
    else member.onStoreRolledBack(error);
  }
}

/** A store keeps the number of shards that it was first opened with: 1 if that was an engine without a cluster. */
function shardCountProblem(settled: number, cluster: ResolvedOptions["cluster"]): string {
  if (cluster === undefined) {
    return `the store belongs to a cluster: to join it, give this engine the option cluster: { shards: ${settled} }`;
  }
  const made = settled === 1 ? "1 shard, as an engine without a cluster makes it" : `${settled} shards`;
  return `the store was made with ${made}, not ${cluster.shards}: set cluster.shards to ${settled}, or use another store`;
}
