import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { HandSession, Rig, settle, success } from "./dispatcher.rig.ts";
import type { WorkerAnswer } from "./worker.ts";

const jobs = ["everywhere", "embedded", "remote", "second"];
/** A tag that some attempts require; the others require none. */
const tags = ["embedded", "remote", "odd"];
const domains = ["default", "data"];
const ownSize = 3;

type Step =
  | { do: "enqueue"; job: number; tag: number; domain: number; rank: number; start: "at once" | "later" | "refused" }
  | { do: "finish" | "refuse" | "abort" | "withdraw" | "detach"; which: number }
  | { do: "confirm" | "connect" | "disconnect" | "lapse" | "regain" | "adopt" }
  | { do: "quota"; quota: number };

const which = fc.nat(50);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("enqueue" as const),
      job: fc.nat(3),
      tag: fc.nat(6),
      domain: fc.nat(1),
      rank: fc.nat(2),
      start: fc.constantFrom("at once", "at once", "later", "refused"),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("finish", "finish", "refuse", "abort", "detach"), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("withdraw" as const), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("confirm", "confirm", "connect", "disconnect", "lapse", "regain", "regain", "adopt"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("quota" as const), quota: fc.nat(8) }) },
);

/** What ought to be true of a dispatcher with several workers, whatever they do. */
class Model {
  hasLease = true;
  quota = 0;
  readonly gone: string[] = [];
  readonly rig = new Rig({
    poolSize: ownSize,
    sharedDomains: true,
    domains: { data: { size: 9, priority: 1 } },
    mayStart: () => this.hasLease,
    onDetached: ({ attemptId }) => void this.gone.push(attemptId),
  });
  readonly ids: string[] = [];
  readonly jobOf = new Map<string, string>();
  readonly domainOf = new Map<string, string>();
  readonly tagOf = new Map<string, string>();
  /** Ends that no owner hears of. */
  readonly silent = new Set<string>();
  sessions: HandSession[] = [];
  /** How starts go on that are not durable yet. */
  readonly #unconfirmed: (() => void)[] = [];
  #sessionCount = 0;

  constructor() {
    this.rig.worker.missing.add("remote").add("second");
    this.rig.worker.tags.add("embedded");
  }

  async apply(one: Step): Promise<void> {
    if (one.do === "enqueue") this.#enqueue(one);
    else if ("which" in one) this.#actOn(one);
    else if (one.do === "quota") this.#setQuota(one.quota);
    else this.#change(one.do);
    await settle();
  }

  #newId(job: string, domain: string): string {
    const id = `run ${this.ids.length}`;
    this.ids.push(id);
    this.jobOf.set(id, job);
    this.domainOf.set(id, domain);
    return id;
  }

  #enqueue({ job, tag, domain, rank, start }: Extract<Step, { do: "enqueue" }>): void {
    const id = this.#newId(jobs[job]!, domains[domain]!);
    const required = tags[tag];
    const placement = required === undefined ? undefined : { tags: [required], worker: undefined };
    if (required !== undefined) this.tagOf.set(id, required);
    const given = { job: jobs[job]!, domain: domains[domain]!, rank, placement };
    this.rig.dispatcher.enqueue(this.rig.run(id, { ...given, confirmStart: () => this.#confirmStart(id, start) }));
  }

  #confirmStart(id: string, start: "at once" | "later" | "refused"): Promise<void> {
    if (start === "at once") return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const starts = (): number => this.rig.listener.heard.filter((line) => line === `${id} started`).length;
    const startsThen = starts();
    const refuse = (): void => {
      // It may have been queued again meanwhile, and started: then that start is another matter.
      if (this.rig.dispatcher.status.isRunning(id) && starts() === startsThen) this.silent.add(id);
      reject(new Error("refused"));
    };
    this.#unconfirmed.push(start === "later" ? resolve : refuse);
    return promise;
  }

  #setQuota(quota: number): void {
    this.quota = quota;
    this.rig.dispatcher.setQuota("data", quota);
  }

  #change(what: "confirm" | "connect" | "disconnect" | "lapse" | "regain" | "adopt"): void {
    const { dispatcher } = this.rig;
    const [first] = this.sessions;
    if (what === "confirm") this.#unconfirmed.shift()?.();
    else if (what === "connect") this.#connect();
    else if (what === "disconnect" && first !== undefined) {
      this.sessions.shift();
      dispatcher.disconnect(first);
    } else if (what === "lapse") {
      this.hasLease = false;
      dispatcher.interruptAll();
      this.sessions = [];
    } else if (what === "regain") {
      this.hasLease = true;
      dispatcher.onLeaseChanged();
    } else if (what === "adopt" && first !== undefined) this.#adopt(first);
  }

  #connect(): void {
    const session = new HandSession(`worker ${this.#sessionCount}`, 1 + (this.#sessionCount++ % 3));
    session.missing.add("embedded");
    session.tags.add("remote");
    if (this.#sessionCount % 2 === 1) session.tags.add("odd");
    if (this.#sessionCount % 2 === 0) session.missing.add("second");
    this.sessions.push(session);
    this.rig.dispatcher.connect(session);
  }

  #adopt(session: HandSession): void {
    const id = this.#newId("everywhere", "data");
    const run = this.rig.run(id, { job: "everywhere", domain: "data" });
    const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>();
    const answer = promise.finally(() => session.taken.delete(id));
    assert.equal(this.rig.dispatcher.adopt(run, session, answer, this.rig.clock.now()), true);
    session.calls.push({ run, abort: session.followed.get(id)!, promise, resolve, reject });
  }

  #actOn({ do: what, which }: Extract<Step, { which: number }>): void {
    const { dispatcher } = this.rig;
    const id = this.ids[which % Math.max(1, this.ids.length)];
    if (id === undefined) return;
    if (what === "withdraw") dispatcher.withdraw([id]);
    else if (what === "detach") dispatcher.detach([id]);
    else if (what === "abort") {
      if (!this.isReported(id) && !this.gone.includes(id)) this.silent.add(id);
      dispatcher.abort([id]);
    } else this.#answer(id, what);
  }

  #answer(id: string, what: "finish" | "refuse"): void {
    const worker = this.workerOf(id);
    const call = worker?.calls.findLast(({ run }) => run.attemptId === id);
    if (what === "finish") call?.resolve(success);
    else if (worker !== this.rig.worker) call?.resolve({ kind: "refused", why: "full" });
  }

  workerOf(id: string): Rig["worker"] | undefined {
    const running = this.rig.dispatcher.status.listRunning().find(({ run }) => run.attemptId === id);
    return [this.rig.worker, ...this.sessions].find(({ address }) => address === running?.worker);
  }

  isReported(id: string): boolean {
    return this.rig.listener.ends.some((line) => line.startsWith(`${id} `));
  }

  check(before: readonly string[]): void {
    const { dispatcher, listener, running, waiting } = this.rig;
    const isHere = (id: string): boolean => !this.isReported(id) && !this.silent.has(id) && !this.gone.includes(id);
    const open = this.ids.filter((id) => isHere(id));
    assert.deepEqual([...running, ...waiting].toSorted(), open.toSorted(), "whatever has no end is here, once");
    for (const id of this.ids) {
      assert.ok(listener.ends.filter((line) => line.startsWith(`${id} `)).length <= 1, `${id} has one end`);
    }
    const slotsUsed = dispatcher.status.listDomains().reduce((sum, domain) => sum + domain.running, 0);
    assert.equal(slotsUsed, running.length, "slots in use are what runs");
    for (const session of this.sessions) {
      const its = running.filter((id) => this.workerOf(id) === session);
      assert.deepEqual([...session.taken].toSorted(), its.toSorted(), "a worker's slots are what runs on it");
    }
    const begun = running.filter((id) => !before.includes(id));
    this.#checkLimits(begun);
    this.#checkNobodyWaitsForNothing();
  }

  #checkLimits(begun: readonly string[]): void {
    const { rig } = this;
    const own = rig.running.filter((id) => this.workerOf(id) === rig.worker);
    assert.ok(own.length <= ownSize, "the embedded worker has its own part and no more");
    const total = this.sessions.reduce((sum, { slots }) => sum + slots, ownSize);
    assert.equal(rig.dispatcher.status.poolSize, total);
    const wasAdopted = begun.some((id) => !rig.listener.heard.includes(`${id} started`));
    if (begun.length > 0 && !wasAdopted) assert.ok(rig.running.length <= total, "nothing starts in a full pool");
    const data = rig.running.filter((id) => this.domainOf.get(id) === "data");
    if (!wasAdopted && begun.some((id) => this.domainOf.get(id) === "data")) assert.ok(data.length <= this.quota);
    for (const id of rig.worker.started) assert.notEqual(this.jobOf.get(id), "remote");
    for (const id of rig.running)
      assert.ok(this.#hasTag(this.workerOf(id)!, id), `${id} runs on a worker with its tag`);
  }

  #hasTag(worker: Rig["worker"], id: string): boolean {
    const tag = this.tagOf.get(id);
    return tag === undefined || worker.tags.has(tag);
  }

  #checkNobodyWaitsForNothing(): void {
    const { rig, sessions } = this;
    if (!this.hasLease || rig.running.length >= rig.dispatcher.status.poolSize) return;
    const own = rig.running.filter((id) => this.workerOf(id) === rig.worker).length;
    for (const id of rig.waiting) {
      const domain = this.domainOf.get(id)!;
      const job = this.jobOf.get(id)!;
      const quota = domain === "data" ? this.quota : Math.max(0, rig.dispatcher.status.poolSize - this.quota);
      const used = rig.running.filter((other) => this.domainOf.get(other) === domain).length;
      const mayRun = (worker: Rig["worker"]): boolean => worker.hasJob(job) && this.#hasTag(worker, id);
      const hasWorker = sessions.some((session) => mayRun(session) && session.freeSlots > 0);
      const isServed = hasWorker || (mayRun(rig.worker) && own < ownSize);
      assert.ok(used >= quota || !isServed, `${id} waits, though there are a slot and a worker for it`);
    }
  }
}

test("whatever workers come, go and refuse, slots are what runs, limits hold and nobody waits for nothing", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: "max" }), async (steps) => {
      const model = new Model();
      for (const one of steps) {
        const before = model.rig.running;
        await model.apply(one);
        model.check(before);
      }
    }),
    { numRuns: 300 },
  );
});
