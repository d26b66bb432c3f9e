import { unreachable } from "../../src/base/assert.ts";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";
import { messageOf } from "../../src/base/error.ts";
import { crash, endSessions, freeze } from "../databases/server-faults.ts";
import type { SimRandom } from "../sim/sim-random.ts";
import type { Supervisor } from "../sim/supervisor.ts";
import type { Scheduler } from "../sim/scheduler.ts";
import type { Recorder } from "../sim/recorder.ts";
import type { Host } from "./process-life.ts";

/** What may befall a run, and how often, one beside the other. */
const weights = {
  /** SIGKILL of a member, which is started again after a while. */
  kill: 5,
  /** In good order, to come back later. */
  leave: 2,
  /** SIGSTOP of a member: until before the others give it up, or until after. */
  freeze: 2,
  "long-freeze": 4,
  /** All connections of a member break; or of all members. */
  cut: 3,
  "cut-all": 2,
  /** Of a member to the server: nothing passes for a while, everything is late, or nobody listens. */
  stall: 2,
  slow: 1,
  refuse: 1,
  /** A member does not hear the answer to what the server has done, and loses that connection. */
  "lose-answer": 6,
  /** The server ends all sessions. */
  "end-sessions": 3,
  /** SIGKILL, restart in good order, or SIGSTOP of the server. */
  "crash-server": 1,
  "restart-server": 1,
  "freeze-server": 1,
} as const;

export type FaultKind = keyof typeof weights;

export interface FaultsParts {
  readonly time: Scheduler;
  readonly random: SimRandom;
  readonly recorder: Recorder;
  readonly supervisor: Supervisor;
  readonly hosts: readonly Host[];
  readonly server: DatabaseServer;
  /** Of the database, past all proxies. */
  readonly url: string;
  readonly everyMs: number;
  /** Silent for this long, a member is given up by others. */
  readonly lostMs: number;
}

/** Lets random befall members, their connections and the server, until it is over. */
export class Faults {
  readonly counts = new Map<FaultKind, number>();
  readonly #parts: FaultsParts;
  /** How to mend what is broken at the moment. */
  readonly #broken = new Set<() => Promise<void>>();
  #isServerHit = false;
  #isOver = false;

  constructor(parts: FaultsParts) {
    this.#parts = parts;
  }

  async run(endsAt: number): Promise<void> {
    const { time, random, everyMs, hosts } = this.#parts;
    for (;;) {
      await time.sleep(random.waitMs(everyMs));
      if (time.now >= endsAt || this.#isOver) return;
      const kind = random.weighted(weights);
      if (kind !== undefined && this.#befall(kind, random.pick(hosts)))
        this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    }
  }

  /** From now on nothing goes wrong any more, and everybody is there. */
  async end(): Promise<void> {
    await this.mend();
    for (const host of this.#parts.hosts) void this.#parts.supervisor.begin(host);
  }

  /**
   * No further fault begins, and those that have begun are over. All of them are mended at once: one may last until
   * another is mended, such as the end of sessions on a server that stands still.
   */
  async mend(): Promise<void> {
    this.#isOver = true;
    while (this.#broken.size > 0) await Promise.all([...this.#broken].map((mend) => mend()));
  }

  /** False if it has nobody to befall. */
  #befall(kind: FaultKind, host: Host): boolean {
    const { random, supervisor, hosts, lostMs, recorder } = this.#parts;
    const { life, proxy } = host;
    const note = (what: string): boolean => {
      recorder.recordFault(what);
      return true;
    };
    switch (kind) {
      case "kill":
        life?.crash("killed");
        return life !== undefined;
      case "leave":
        if (!host.isUp) return false;
        void supervisor.leave(host, random.waitMs(lostMs / 2));
        return true;
      case "freeze":
        return this.#freeze(host, random.waitMs(lostMs / 3));
      case "long-freeze":
        return this.#freeze(host, lostMs * random.within(0.9, 2));
      case "cut":
        proxy.cut();
        return note(`the connections of ${host.name} are cut`);
      case "cut-all":
        for (const each of hosts) each.proxy.cut();
        return note("all connections are cut");
      case "lose-answer":
        void proxy.loseAnswer();
        return note(`${host.name} does not hear the next answer`);
      case "end-sessions":
        void this.#endSessions();
        return note("all sessions are ended");
      case "stall":
      case "slow":
      case "refuse":
        void this.#disturb(kind, host);
        return true;
      case "crash-server":
      case "restart-server":
      case "freeze-server":
        return this.#hitServer(kind);
      default:
        return unreachable(kind, "a kind of fault");
    }
  }

  /** Lists the sessions and ends one after the other, which may reach a slow server late, and then whoever is there. */
  async #endSessions(): Promise<void> {
    // The server may be away.
    const ended = endSessions(this.#parts.url).then(
      () => undefined,
      () => undefined,
    );
    const wait = (): Promise<void> => ended;
    this.#broken.add(wait);
    await ended;
    this.#broken.delete(wait);
  }

  #freeze({ life }: Host, ms: number): boolean {
    if (life === undefined || life.isFrozen) return false;
    life.freeze();
    void this.#forAWhile(ms, () => life.thaw());
    return true;
  }

  async #disturb(kind: "stall" | "slow" | "refuse", { name, proxy }: Host): Promise<void> {
    const { random, recorder, lostMs } = this.#parts;
    const ms = random.waitMs(lostMs / 2);
    recorder.recordFault(`${kind} at ${name} for ${ms.toFixed(0)} ms`);
    if (kind === "stall") {
      proxy.hold("requests", "answers");
      return await this.#forAWhile(ms, () => {
        // What was on its way arrives late, or never.
        if (random.isLucky(0.5)) proxy.cut();
        proxy.letGo();
      });
    }
    if (kind === "slow") {
      proxy.delay(random.within(20, 300));
      return await this.#forAWhile(ms, () => proxy.delay(0));
    }
    proxy.refuse();
    proxy.cut();
    await this.#forAWhile(ms, () => proxy.accept());
  }

  /** One thing at a time. */
  #hitServer(kind: "crash-server" | "restart-server" | "freeze-server"): boolean {
    if (this.#isServerHit) return false;
    this.#isServerHit = true;
    void this.#breakServer(kind);
    return true;
  }

  async #breakServer(kind: "crash-server" | "restart-server" | "freeze-server"): Promise<void> {
    const { server, random, lostMs, recorder, time } = this.#parts;
    const ms = kind === "freeze-server" ? lostMs * random.within(0.5, 1.8) : random.waitMs(1500);
    recorder.recordFault(`${kind} for ${ms.toFixed(0)} ms`);
    if (kind === "freeze-server") {
      const thaw = freeze(server);
      return await this.#forAWhile(ms, () => {
        thaw();
        this.#isServerHit = false;
      });
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = (): Promise<void> => promise;
    this.#broken.add(wait);
    try {
      await (kind === "crash-server" ? crash(server) : server.process.stop());
      if (!this.#isOver) await time.sleep(ms);
      await server.process.start();
      recorder.recordFault("the server is back");
    } catch (error) {
      recorder.recordProblem(`the server does not come back: ${messageOf(error)}`);
    }
    this.#isServerHit = false;
    this.#broken.delete(wait);
    resolve();
  }

  /** Mended after that time, or at the end of all faults. */
  async #forAWhile(ms: number, mend: () => void | Promise<void>): Promise<void> {
    let isMended = false;
    const once = async (): Promise<void> => {
      if (isMended) return;
      isMended = true;
      this.#broken.delete(once);
      await mend();
    };
    this.#broken.add(once);
    await this.#parts.time.sleep(ms);
    await once();
  }
}
