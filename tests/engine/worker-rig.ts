import type { TestContext } from "node:test";
import { JobRegistry } from "../../src/authoring/job-registry.ts";
import type { CodeWorkflow, Job, Link, LinkListener } from "../../src/index.ts";
import { workerCodeOf } from "../../src/remote-worker/worker-code.ts";
import { SeededRandom } from "../../src/testing.ts";
import { RemoteWorker } from "../../src/worker/remote-worker.ts";
import { MemberClock } from "./cluster-clock.ts";
import type { EngineClusterRig, RigMember } from "./engine-cluster-rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

interface RigWorkerOptions {
  readonly members: readonly RigMember[];
  readonly jobs: readonly Job[];
  readonly workflows?: readonly CodeWorkflow[];
  /** Code that stays in memory. */
  readonly runsMax?: number;
  readonly slots?: number;
  readonly tags?: readonly string[];
}

/** A worker in a process of its own, over links in memory, to whichever of the members that run comes first. */
export class RigWorker {
  readonly worker: RemoteWorker;
  readonly log = new LogBook();
  readonly #rig: EngineClusterRig;
  readonly #clock: MemberClock;
  #members: readonly RigMember[];
  #link: MemoryLink | undefined;
  #isIsolated = false;

  private constructor(rig: EngineClusterRig, options: RigWorkerOptions) {
    const { members, jobs, slots = 5, tags = [], workflows = [], runsMax = 100 } = options;
    this.#rig = rig;
    this.#members = members;
    this.#clock = new MemberClock(rig.clock);
    const registry = new JobRegistry();
    this.worker = new RemoteWorker({
      clock: this.#clock,
      random: new SeededRandom(99),
      logger: this.log,
      jobs: new Map(jobs.map((job) => [registry.register(job), job])),
      connect: (listener) => this.#connect(listener),
      slots,
      tags,
      code: workerCodeOf({ workflows, clock: this.#clock, logger: this.log, turnsMax: 100, runsMax }),
    });
  }

  /** It is connected when this resolves. */
  static async start(t: TestContext, rig: EngineClusterRig, options: RigWorkerOptions): Promise<RigWorker> {
    const worker = new RigWorker(rig, options);
    t.after(() => worker.kill());
    worker.worker.start();
    await worker.untilConnected();
    return worker;
  }

  async untilConnected(): Promise<void> {
    while (!this.worker.isConnected) await this.#rig.clock.advance(100);
  }

  /** With whom it is connected, or was last. */
  get member(): RigMember | undefined {
    return this.#link?.member;
  }

  /** From one moment to the next the process is gone, without a word to anybody. */
  kill(): void {
    this.#clock.die();
    this.#link?.cut();
  }

  /** The connection is gone, and the worker notices. */
  loseLink(): void {
    this.#link?.cut();
    this.#link?.listener.onClosed();
  }

  /** Its connection breaks, and the next one is to that member. */
  async goTo(member: RigMember): Promise<void> {
    this.#members = [member, ...this.#members.filter((other) => other !== member)];
    this.loseLink();
    await this.untilConnected();
  }

  /** As `goTo`, and the member that it leaves notices. */
  async leaveFor(member: RigMember): Promise<void> {
    this.#members = [member, ...this.#members.filter((other) => other !== member)];
    this.#link?.close();
    this.#link?.listener.onClosed();
    await this.untilConnected();
  }

  /** What it says over this connection is lost. */
  mute(): void {
    this.#link?.mute();
  }

  /** It reaches nobody any more, and nobody reaches it. */
  isolate(): void {
    this.#isIsolated = true;
    this.#link?.cut();
  }

  #connect(listener: LinkListener): Link {
    const member = this.#members.find(({ isRunning }) => isRunning);
    if (member === undefined || this.#isIsolated) throw new Error("no member answers");
    this.#link = new MemoryLink(this.#clock, member, listener);
    return this.#link;
  }
}

/** Both ends of a connection: everything arrives, in order, a moment after it was sent. */
class MemoryLink implements Link {
  readonly member: RigMember;
  readonly listener: LinkListener;
  readonly #clock: MemberClock;
  readonly #atMember: LinkListener;
  #isOpen = true;
  #isMute = false;

  constructor(clock: MemberClock, member: RigMember, listener: LinkListener) {
    this.#clock = clock;
    this.member = member;
    this.listener = listener;
    this.#atMember = member.engine.acceptWorker({
      send: (text) => this.#later(() => listener.receive(text)),
      close: () => this.#end(() => listener.onClosed()),
    });
  }

  send(text: string): void {
    this.#later(() => {
      if (this.member.isRunning && !this.#isMute) this.#atMember.receive(text);
    });
  }

  close(): void {
    this.#end(() => {
      if (this.member.isRunning) this.#atMember.onClosed();
    });
  }

  mute(): void {
    this.#isMute = true;
  }

  /** Nothing passes any more, and nobody is told. */
  cut(): void {
    this.#isOpen = false;
  }

  #later(arrive: () => void): void {
    this.#clock.soon(() => {
      if (this.#isOpen) arrive();
    });
  }

  #end(tell: () => void): void {
    if (!this.#isOpen) return;
    this.#clock.soon(() => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      tell();
    });
  }
}
