import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import { hasCode } from "../../src/base/error.ts";
import { defaultTimings } from "../../src/cluster/timings.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import type { ClusterOptions } from "../../src/member/cluster-options.ts";
import type { Store } from "../../src/stores/store.ts";
import type { SimRandom } from "./sim-random.ts";
import { simJobs } from "./jobs.ts";
import { SimLeaseThread } from "./lease-thread.ts";
import { Life, type LifeParts, Machine } from "./machine.ts";
import type { Mutation } from "./mutations.ts";
import type { Scheduler } from "./scheduler.ts";
import { twinNamespace } from "./workload.ts";
import { SimStore, StoreLink, type StoreUser } from "./store.ts";

/** A machine with an engine and a connection to the store. */
export class Member extends Machine<MemberLife> {
  readonly link = new StoreLink();
}

export interface MemberLifeParts extends Omit<LifeParts, "role" | "machine"> {
  readonly machine: Member;
  readonly random: SimRandom;
  readonly inner: Store;
  /** The store is a server: calls may arrive after their sender has ended. */
  readonly isServer: boolean;
  readonly mutation: Mutation | undefined;
  /** Options that are not specific to one process. */
  readonly options: (life: Life) => Partial<EngineOptions>;
  /** Code that this process gets some time after its start, or never. */
  readonly late: { readonly workflows: readonly CodeWorkflow[]; readonly afterMs: number | undefined };
}

/** One process with an engine. */
export class MemberLife extends Life implements StoreUser {
  readonly engine: Engine;
  /** Renews the lease while the event loop is blocked. */
  readonly leaseThread: SimLeaseThread | undefined;
  /** Decremented with every call to the store; the process crashes at zero. */
  callsToLive = Infinity;
  readonly #store: SimStore;
  #threadStore: SimStore | undefined;
  readonly #isServer: boolean;
  readonly #handOverMs: number;
  readonly #late: MemberLifeParts["late"];
  readonly #scheduler: Scheduler;
  #lossToCome: { commits: number; readonly livesOnMs: number; readonly onLost: () => void } | undefined;

  constructor(parts: MemberLifeParts) {
    super({ ...parts, role: "member" });
    const { machine, scheduler, recorder, random, inner, log, mutation } = parts;
    const { link } = machine;
    this.#isServer = parts.isServer;
    const ofStop = random.fork("stop");
    this.#handOverMs = parts.isServer && ofStop.isLucky(0.5) ? ofStop.within(100, 4000) : 0;
    this.#late = parts.late;
    this.#scheduler = scheduler;
    this.#store = new SimStore({ inner, user: this, link, scheduler, random: random.fork("store"), log, recorder });
    const options = parts.options(this);
    const { cluster } = options;
    this.leaseThread = cluster && this.#makeLeaseThread(parts, cluster);
    this.engine = new Engine({
      ...options,
      ...(cluster && this.leaseThread && { cluster: { ...cluster, leaseThread: this.leaseThread.lease } }),
      storage: mutation?.store?.(this.#store) ?? this.#store,
      clock: mutation?.clock?.(this.clock) ?? this.clock,
      random: random.fork("engine"),
      logger: recorder.loggerOf(this),
      jobs: simJobs(this, recorder),
      watchCode: false,
    });
    // Its program ends: the engine never takes work again.
    void this.engine.fenced.then((error) => {
      if (hasCode(error, "STORE_ROLLED_BACK")) this.finish("gave up", error.message);
    });
    const twin = this.engine.inNamespace(twinNamespace);
    for (const job of simJobs(this, recorder)) twin.registerJobFunction(job);
  }

  #makeLeaseThread(parts: MemberLifeParts, { timings }: ClusterOptions): SimLeaseThread {
    const { machine, scheduler, recorder, inner, log } = parts;
    const random = parts.random.fork("lease thread");
    return new SimLeaseThread(
      { life: this, time: machine.time, scheduler, timings: { ...defaultTimings, ...timings } },
      (user) =>
        (this.#threadStore = new SimStore({ inner, user, link: machine.link, scheduler, random, log, recorder })),
    );
  }

  async start(): Promise<void> {
    await this.engine.start();
    const { workflows, afterMs } = this.#late;
    if (workflows.length > 0 && afterMs !== undefined) this.clock.after(afterMs, () => void this.#deploy(workflows));
  }

  async #deploy(workflows: readonly CodeWorkflow[]): Promise<void> {
    try {
      for (const workflow of workflows) await this.engine.registerWorkflow(workflow);
    } catch (error) {
      // The process is asked to stop while the store is unavailable.
      if (this.record.stopping === undefined || !hasCode(error, "STORE_UNAVAILABLE")) throw error;
    }
  }

  /** Half of the members hand their shards over first, as a server does. */
  async stop(): Promise<void> {
    if (this.#handOverMs > 0) {
      const late = new Promise<void>((resolve) => void this.clock.after(this.#handOverMs, resolve));
      const work = Promise.all([this.engine.drain(), this.engine.handOver()]);
      // An engine that is degraded refuses to be drained.
      await Promise.race([work.catch(() => undefined), late]);
    }
    await this.engine.stop();
  }

  /** Loses one of the next commits without an answer; the process crashes some time later. */
  loseCommit(commits: number, livesOnMs: number, onLost: () => void): void {
    this.#lossToCome = { commits, livesOnMs, onLost };
  }

  keepCommits(): void {
    this.#lossToCome = undefined;
  }

  losesCommit(): boolean {
    const loss = this.#lossToCome;
    if (loss === undefined || --loss.commits > 0) return false;
    this.#lossToCome = undefined;
    this.#scheduler.after(loss.livesOnMs, this, () => this.crash("with a commit that was lost"));
    loss.onLost();
    return true;
  }

  lingerMs(): number {
    return 0;
  }

  onStoreCall(name: string): void {
    if (--this.callsToLive <= 0) this.crash(`at its call ${name}`);
  }

  override onCrash(): void {
    this.#store.abandon({ isServer: this.#isServer });
    this.#threadStore?.abandon({ isServer: this.#isServer });
  }

  override onThaw(): void {
    this.leaseThread?.onRunning();
  }
}
