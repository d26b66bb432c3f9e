import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Outcome } from "../kernel/input.ts";
import { Rig, settle, success } from "./dispatcher.rig.ts";

const failure: Outcome = { kind: "failure", failure: { type: "Error", message: "no", retryable: true } };
const timeoutsMs = [500, 2000, 60_000];
/** Suspects let others grow this old. */
const youthMs = 2000;
const domains = ["default", "data", "mail"];

type Step =
  | { do: "enqueue"; domain: number; rank: number; timeout: number; interruptions: number; misbehave: Misbehaviour }
  | { do: "finish" | "fail" | "reject" | "abort" | "withdraw"; which: number }
  | { do: "advance"; ms: number }
  | { do: "resize"; pool: number; data: number; mail: number }
  | { do: "pause" | "resume" };

type Misbehaviour = "none" | "throws" | "at once" | "start refused";

const which = fc.nat(50);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("enqueue" as const),
      domain: fc.nat(2),
      rank: fc.nat(2),
      timeout: fc.nat(2),
      interruptions: fc.constantFrom(0, 0, 0, 1, 2, 3),
      misbehave: fc.constantFrom("none", "none", "none", "throws", "at once", "start refused"),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("finish", "fail", "reject", "abort", "withdraw"), which }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(0, 100, 600, 3000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("resize" as const),
      pool: fc.integer({ min: 1, max: 8 }),
      data: fc.integer({ min: 1, max: 4 }),
      mail: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("pause", "resume") }) },
);

/** What ought to be true, kept beside the dispatcher from what its owner and its worker see. */
class Model {
  readonly rig = new Rig({ poolSize: 5, domains: { data: { size: 2, priority: 5 }, mail: { size: 1, priority: -5 } } });
  readonly ids: string[] = [];
  readonly suspects = new Set<string>();
  /** These do not start beside a suspect. */
  readonly careful = new Set<string>();
  readonly domainOf = new Map<string, string>();
  /** Ends that no owner hears of: aborted, or a start that was refused. */
  readonly silent = new Set<string>();
  readonly #throwing = new Set<string>();
  readonly #atOnce = new Set<string>();
  paused = false;

  constructor() {
    this.rig.worker.answer = ({ attemptId }) => {
      if (this.#throwing.has(attemptId)) throw new Error("thrown");
      return this.#atOnce.has(attemptId) ? success : this.rig.worker.call(attemptId).promise;
    };
  }

  async apply(one: Step): Promise<void> {
    if ("which" in one) this.#actOn(one);
    else if (one.do === "enqueue") this.#enqueue(one);
    else if (one.do === "advance") await this.rig.clock.advance(one.ms);
    else if (one.do === "resize") this.#resize(one);
    else this.#pause(one.do === "pause");
    await settle();
    await this.rig.acknowledgeAll();
  }

  #enqueue(one: Extract<Step, { do: "enqueue" }>): void {
    const id = `run ${this.ids.length}`;
    const domain = domains[one.domain]!;
    this.ids.push(id);
    this.domainOf.set(id, domain);
    if (one.interruptions >= 2) this.suspects.add(id);
    else if (one.interruptions > 0 || one.misbehave === "start refused") this.careful.add(id);
    if (one.misbehave === "throws") this.#throwing.add(id);
    if (one.misbehave === "at once") this.#atOnce.add(id);
    const refuse = (): Promise<void> => {
      this.silent.add(id);
      return Promise.reject(new Error("refused"));
    };
    const run = this.rig.run(id, {
      domain,
      rank: one.rank,
      timeoutMs: timeoutsMs[one.timeout]!,
      interruptions: one.interruptions,
      ...(one.misbehave === "start refused" ? { isCautious: true, confirmStart: refuse } : {}),
    });
    this.rig.dispatcher.enqueue(run);
    this.rig.dispatcher.enqueue(run);
  }

  #pause(paused: boolean): void {
    this.paused = paused;
    if (paused) this.rig.dispatcher.pauseDispatch();
    else this.rig.dispatcher.resumeDispatch();
  }

  #resize({ pool, data, mail }: Extract<Step, { do: "resize" }>): void {
    const { dispatcher } = this.rig;
    const sizes = [
      () => dispatcher.setPoolSize(pool),
      () => dispatcher.setDomainPoolSize("data", data),
      () => dispatcher.setDomainPoolSize("mail", mail),
    ];
    for (const size of sizes) {
      try {
        size();
      } catch (error) {
        assert.match((error as Error).message, /must be a whole number from \d+ to \d+/);
      }
    }
  }

  #actOn({ do: what, which }: Extract<Step, { which: number }>): void {
    const { dispatcher, worker } = this.rig;
    const id = this.ids[which % Math.max(1, this.ids.length)];
    if (id === undefined) return;
    if (what === "withdraw") dispatcher.withdraw([id]);
    else if (what === "abort") {
      if (!this.isReported(id)) this.silent.add(id);
      dispatcher.abort([id]);
    } else {
      const call = worker.calls.find(({ run }) => run.attemptId === id);
      if (what === "reject") call?.reject(new Error("rejected"));
      else call?.resolve(what === "fail" ? failure : success);
    }
  }

  isReported(id: string): boolean {
    return this.rig.listener.ends.some((line) => line.startsWith(`${id} `));
  }

  /** Whatever just happened. */
  check(before: readonly string[]): void {
    const { dispatcher, listener, running, waiting } = this.rig;
    const open = this.ids.filter((id) => !this.isReported(id) && !this.silent.has(id));
    assert.deepEqual([...running, ...waiting].toSorted(), open.toSorted(), "whatever has no end is here, once");
    for (const id of this.ids) {
      const reports = listener.ends.filter((line) => line.startsWith(`${id} `)).length;
      assert.ok(reports <= 1, `${id} was reported ${reports} times`);
    }
    assert.ok(running.filter((id) => this.suspects.has(id)).length <= 1, "one suspect at a time");

    const slotsUsed = dispatcher.status.listDomains().reduce((sum, domain) => sum + domain.running, 0);
    assert.equal(slotsUsed, running.length, "slots in use are what runs");
    const begun = running.filter((id) => !before.includes(id));
    if (begun.length > 0) assert.ok(running.length <= dispatcher.status.poolSize, "nothing starts in a full pool");
    for (const domain of domains) this.#checkDomain(domain, begun);
  }

  #checkDomain(domain: string, begun: readonly string[]): void {
    const { dispatcher, running, waiting } = this.rig;
    const { running: used, size } = dispatcher.status.domainStatus(domain);
    assert.equal(used, running.filter((id) => this.domainOf.get(id) === domain).length);
    if (begun.some((id) => this.domainOf.get(id) === domain))
      assert.ok(used <= size, "nothing starts in a full domain");
    const isHeldBack = (id: string): boolean =>
      this.suspects.has(id) || (this.careful.has(id) && running.some((other) => this.suspects.has(other)));
    const couldStart = waiting.some((id) => this.domainOf.get(id) === domain && !isHeldBack(id));
    const hasRoom = used < size && running.length < dispatcher.status.poolSize;
    assert.ok(this.paused || !couldStart || !hasRoom, `${domain} has a slot and somebody waits for it`);
  }

  /** Everything that is left ends by itself: by its timeout, if the pool has a slot for it. */
  async drain(): Promise<void> {
    const { dispatcher, clock, worker, waiting } = this.rig;
    dispatcher.setPoolSize(12);
    dispatcher.resumeDispatch();
    await settle();
    for (let i = 0; i <= waiting.length; i++) await clock.advance(60_000 + youthMs);
    for (const call of worker.calls) call.resolve(success);
    await settle();
    await this.rig.acknowledgeAll();
    assert.deepEqual([this.rig.running, this.rig.waiting], [[], []]);
    assert.equal(clock.timerCount, 0);
    for (const id of this.ids) assert.notEqual(this.isReported(id), this.silent.has(id), `${id} has one end`);
  }
}

test("whatever happens, slots are what runs, limits hold and every run ends once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: "max" }), async (steps) => {
      const model = new Model();
      for (const one of steps) {
        const before = model.rig.running;
        await model.apply(one);
        model.check(before);
      }
      await model.drain();
    }),
    { numRuns: 300 },
  );
});
