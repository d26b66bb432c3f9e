import type { Job } from "../../src/authoring/job.ts";
import { JobRegistry } from "../../src/authoring/job-registry.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Link, LinkListener } from "../../src/dispatch/link.ts";
import { parseMemberMessage, parseWorkerMessage } from "../../src/dispatch/session-schema.ts";
import { RemoteWorker } from "../../src/worker/remote-worker.ts";
import { workerCodeOf } from "../../src/remote-worker/worker-code.ts";
import { codeWorkflows } from "./code-workflows.ts";
import type { SimRandom } from "./sim-random.ts";
import { simJobs } from "./jobs.ts";
import { Life, type LifeParts, Machine } from "./machine.ts";
import type { MemberLife } from "./member.ts";
import type { Network } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";
import { Wire } from "./wire.ts";

/** A machine that runs jobs for the members. It has no connection to the store. */
export class WorkerMachine extends Machine<WorkerLife> {}

export interface WorkerLifeParts extends Omit<LifeParts, "role" | "machine"> {
  readonly machine: WorkerMachine;
  readonly random: SimRandom;
  readonly network: Network;
  readonly timings: ClusterTimings;
  readonly slots: number;
  /** Additional mean duration of jobs here, so that many outlive the member that granted them. */
  readonly lingerMs: number;
  /** The members that are up, to which a worker may connect. */
  readonly members: () => readonly MemberLife[];
}

/** One process with a remote worker. */
export class WorkerLife extends Life {
  readonly worker: RemoteWorker;
  readonly #network: Network;
  readonly #scheduler: Scheduler;
  readonly #random: SimRandom;
  readonly #recorder: Recorder;
  readonly #members: () => readonly MemberLife[];
  readonly #lingerMs: number;
  #wire: Wire | undefined;
  #member: MemberLife | undefined;

  constructor(parts: WorkerLifeParts) {
    super({ ...parts, role: "worker" });
    const { random, recorder, timings, slots } = parts;
    this.#network = parts.network;
    this.#scheduler = parts.scheduler;
    this.#random = random.fork("links");
    this.#recorder = recorder;
    this.#members = parts.members;
    this.#lingerMs = parts.lingerMs;
    this.worker = new RemoteWorker({
      clock: this.clock,
      random: random.fork("worker"),
      logger: recorder.loggerOf(this),
      jobs: byId(simJobs(this, recorder)),
      connect: (listener) => this.#connect(listener),
      timings,
      slots,
      tags: ["worker"],
      code: workerCodeOf({
        workflows: codeWorkflows,
        clock: this.clock,
        logger: recorder.loggerOf(this),
        turnsMax: 20,
        runsMax: 5,
      }),
      graceMs: 1000,
    });
  }

  async start(): Promise<void> {
    this.worker.start();
  }

  async stop(): Promise<void> {
    await this.worker.stop();
  }

  lingerMs(): number {
    return this.#random.waitMs(this.#lingerMs);
  }

  /** The member that it is connected to, or was last. */
  get member(): MemberLife | undefined {
    return this.#member;
  }

  /** Breaks the present connection without closing it. */
  breakLink(): void {
    this.#wire?.break();
  }

  /** Connects to any member that is up, including one that is about to be removed. */
  #connect(listener: LinkListener): Link {
    const members = this.#members();
    if (members.length === 0) throw new Error("no member is up");
    const member = this.#random.pick(members);
    this.#member = member;
    const probe = new SessionProbe(this, member, { recorder: this.#recorder, now: () => this.#scheduler.now });
    this.#wire = new Wire({
      network: this.#network,
      scheduler: this.#scheduler,
      random: this.#random,
      worker: this,
      member,
      listener: {
        receive: (text) => {
          const { resultCount } = this.worker;
          probe.onReceive(text);
          listener.receive(text);
          if (this.worker.resultCount < resultCount) probe.onForget(text);
        },
        onClosed: () => listener.onClosed(),
      },
      accept: (link) => member.engine.acceptWorker(link),
    });
    const { link } = this.#wire;
    return {
      send: (text) => {
        probe.onSend(text);
        link.send(text);
      },
      close: () => link.close(),
    };
  }
}

/** Observes one connection, and records the lease renewals and acknowledgements that the worker gets. */
class SessionProbe {
  readonly #life: Life;
  readonly #member: Life;
  readonly #recorder: Recorder;
  readonly #now: () => number;
  /** The unanswered heartbeats, by sequence number. */
  readonly #heartbeats = new Map<number, SentHeartbeat>();
  /**
   * Attempts from before this connection whose owner the member has not found, as far as the worker knows. An answer to a
   * heartbeat says so of those that run, and nothing of results: they are renewed only when the owner has been found.
   */
  readonly #brought = new Set<string>();

  constructor(life: Life, member: Life, parts: { recorder: Recorder; now: () => number }) {
    this.#life = life;
    this.#member = member;
    this.#recorder = parts.recorder;
    this.#now = parts.now;
  }

  onSend(text: string): void {
    const message = parseWorkerMessage(text);
    if (message.type === "Hello") {
      const { running, results } = message;
      for (const { grant, descriptor } of [...running, ...results]) {
        if (grant === 0) this.#brought.add(descriptor.attemptId);
      }
      this.#noteHeartbeat(
        message.sequence,
        running.map(({ descriptor }) => descriptor.attemptId),
      );
    } else if (message.type === "Heartbeat") {
      this.#noteHeartbeat(
        message.sequence,
        message.running.map(({ attemptId }) => attemptId),
      );
    }
  }

  #noteHeartbeat(sequence: number, running: readonly string[]): void {
    this.#heartbeats.set(sequence, { sentAt: this.#now(), running });
  }

  /** Called when the message made the worker forget a result. */
  onForget(text: string): void {
    const message = parseMemberMessage(text);
    if (message.type === "Acknowledged") this.#recorder.recordAcknowledgement(this.#life, message.attemptId);
  }

  onReceive(text: string): void {
    const message = parseMemberMessage(text);
    if (message.type === "Grant") this.#brought.delete(message.descriptor.attemptId);
    if (!("sequence" in message)) return;
    const { sequence, unwanted, undecided, renewalAges } = message;
    const heartbeat = this.#heartbeats.get(sequence);
    if (heartbeat === undefined) return;
    for (const other of this.#heartbeats.keys()) if (other <= sequence) this.#heartbeats.delete(other);
    const withheld = new Map(renewalAges.map(({ attemptId, ageMs }) => [attemptId, ageMs]));
    for (const { attemptId } of [...unwanted, ...undecided]) withheld.set(attemptId, Infinity);
    for (const attemptId of heartbeat.running) {
      if (withheld.get(attemptId) !== Infinity) this.#brought.delete(attemptId);
    }
    for (const attemptId of this.#brought) withheld.set(attemptId, Infinity);
    this.#recorder.recordWorkerRenewal(this.#life, {
      member: this.#member.number,
      sentAt: heartbeat.sentAt,
      withheld,
    });
  }
}

interface SentHeartbeat {
  readonly sentAt: number;
  readonly running: readonly string[];
}

function byId(jobs: readonly Job[]): Map<string, Job> {
  const registry = new JobRegistry();
  return new Map(jobs.map((job) => [registry.register(job), job]));
}
