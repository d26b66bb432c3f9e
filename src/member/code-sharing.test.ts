/** Questions about code between two members: whatever is lost, late or doubled, each is answered once, and nothing is left. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLogger } from "../base/logger.ts";
import { Mulberry } from "../base/mulberry.ts";
import type { AskedTurn, CodeHost } from "../dispatch/code-host.ts";
import { CodeHosts, type NeededCode, type OpenTurn } from "../dispatch/code-hosts.ts";
import type { TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import { textOfEvents } from "../kernel/event-text.ts";
import type { ClusterView, HistoryRow } from "../stores/store.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { Hint } from "../runtime/call.ts";
import { CodeSharing } from "./code-sharing.ts";

/** What the network does to a message, and for how long an answer takes. */
interface Faults {
  readonly lossRate: number;
  readonly delayMsMax: number;
}

const noFaults: Faults = { lossRate: 0, delayMsMax: 0 };

function answerTo({ instanceId, events }: TurnQuestion): TurnAnswer {
  return { steps: [], queries: [{ output: `${instanceId} ${events}` }], canCancel: true };
}

function question(instanceId: string, events = 1): TurnQuestion {
  const base = { workflow: "w", version: "1", generation: 1, first: 0, steps: 0, seen: 0, news: [], queries: [] };
  return { ...base, instanceId, events };
}

/** A worker that answers, after a while, what it is asked, and reads the history first where that is left out. */
class Worker implements CodeHost {
  readonly address: string;
  readonly asked = new Set<AskedTurn>();
  readonly histories: string[] = [];
  answersAll = true;
  readonly #clock: TestClock;

  constructor(address: string, clock: TestClock) {
    this.address = address;
    this.#clock = clock;
  }

  get freeTurns(): number {
    return 4 - this.asked.size;
  }

  canRun(workflow: string): boolean {
    return workflow === "w";
  }

  ask(turn: AskedTurn): void {
    this.asked.add(turn);
    this.#clock.after(5, () => void this.#answer(turn));
  }

  async #answer(turn: AskedTurn): Promise<void> {
    if (turn.question.news === undefined) {
      const page = await turn.history(0);
      this.histories.push(`${page?.turns.length ?? "no"} turns`);
    }
    if (!this.answersAll || !this.asked.delete(turn)) return;
    turn.answer(answerTo(turn.question), this);
  }

  withdraw(turn: AskedTurn): void {
    this.asked.delete(turn);
  }
}

class Member {
  readonly id: string;
  readonly hosts: CodeHosts;
  readonly sharing: CodeSharing;
  readonly answers: string[] = [];
  readonly hosted: string[] = [];
  stopped: NeededCode[] = [];
  losses = 0;
  lossesMax = Infinity;

  constructor(id: string, cluster: Cluster) {
    this.id = id;
    this.hosts = new CodeHosts(undefined, () => this.sharing.onWaiting());
    this.sharing = new CodeSharing({
      code: { hosts: this.hosts, learn: () => Promise.resolve() },
      store: { loadHistory: async () => cluster.history, loadPayloads: async () => [] },
      clock: cluster.clock,
      logger: silentLogger,
      members: {
        isLiving: (other) => cluster.living.has(other),
        isSuspected: (other) => cluster.suspected.has(other),
      },
      member: () => id,
      region: () => ({ stoppedCode: () => this.stopped, onCodeHosted: (host) => void this.hosted.push(host.address) }),
      ask: (other, body, { timeoutMs }) => cluster.ask(other, body, timeoutMs),
      hint: (other, hint) => cluster.hint(other, hint),
    });
    this.sharing.start();
  }

  ask(asked: TurnQuestion): OpenTurn {
    return this.hosts.ask(asked, {
      key: 1,
      losses: 0,
      warmHost: undefined,
      owner: {
        history: () => Promise.resolve(undefined),
        onAnswer: (answer, host) => {
          const replies = "steps" in answer ? answer.queries : [];
          this.answers.push(`${asked.instanceId}: ${JSON.stringify(replies[0])} by ${host?.address}`);
        },
        onLost: () => ++this.losses <= this.lossesMax,
      },
    });
  }
}

class Cluster {
  readonly clock = new TestClock();
  readonly living = new Set(["a", "b"]);
  readonly suspected = new Set<string>();
  readonly history: HistoryRow[] = [];
  readonly members: Record<string, Member>;
  readonly worker: Worker;
  readonly #faults: Faults;
  readonly #random: Mulberry;
  requests = 0;

  constructor(faults = noFaults, seed = 1) {
    this.#faults = faults;
    this.#random = new Mulberry(seed);
    this.members = { a: new Member("a", this), b: new Member("b", this) };
    this.worker = new Worker("b/worker", this.clock);
  }

  get a(): Member {
    return this.members["a"] as Member;
  }

  get b(): Member {
    return this.members["b"] as Member;
  }

  /** The worker connects to b, and a hears of it. */
  connect(): void {
    this.b.hosts.onReady(this.worker);
    this.publish(this.b.hosts.connections);
  }

  publish(code: number): void {
    const row = (id: string, about: object) => ({ id, address: id, heartbeat: 1, about: JSON.stringify(about) });
    const view = { members: [row("a", {}), row("b", { code })], shards: [] } as unknown as ClusterView;
    this.a.sharing.onView(view);
  }

  /** At least once or never, as a router has it: the request may come twice, and the answer may be lost. */
  async ask(to: string, body: unknown, timeoutMs: number): Promise<unknown> {
    this.requests++;
    const text = JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.clock.after(timeoutMs, () => reject(new Error("nobody answered")));
    const deliver = async (): Promise<void> => {
      if (!this.living.has(to)) return;
      const value = await this.members[to]?.sharing.answer(JSON.parse(text))?.value;
      const reply = JSON.stringify(value);
      this.#carry(() => resolve(JSON.parse(reply)));
    };
    this.#carry(() => void deliver());
    if (this.#faults.lossRate > 0) this.clock.after(1000, () => this.#carry(() => void deliver()));
    return await promise;
  }

  hint(to: string, hint: Hint): void {
    this.#carry(() => {
      if (hint.type === "CodeTurnsOver") this.members[to]?.sharing.drop(hint.owner, hint.numbers);
    });
  }

  #carry(arrive: () => void): void {
    const { lossRate, delayMsMax } = this.#faults;
    if (this.#random.next() < lossRate) return;
    this.clock.after(this.#random.next() * delayMsMax, arrive);
    if (this.#random.next() < lossRate) this.clock.after(this.#random.next() * delayMsMax * 3, arrive);
  }

  stop(): void {
    for (const member of [this.a, this.b]) member.sharing.stop();
  }
}

describe("questions about code between members", () => {
  test("are answered by a worker of the other one, and cost nothing while none waits", async () => {
    const cluster = new Cluster();
    const { a, clock } = cluster;
    cluster.connect();
    a.ask(question("1"));
    await clock.advance(100);
    assert.deepEqual(a.answers, ['1: {"output":"1 1"} by b']);
    const { requests } = cluster;
    await clock.advance(60_000);
    assert.equal(cluster.requests, requests);
    cluster.stop();
  });

  test("are put to as many at a time as the other has room for", async () => {
    const cluster = new Cluster();
    cluster.connect();
    for (let n = 0; n < 20; n++) cluster.a.ask(question(`${n}`));
    await cluster.clock.advance(21);
    assert.equal(cluster.worker.asked.size, 4);
    await cluster.clock.advance(2000);
    assert.equal(cluster.a.answers.length, 20);
    cluster.stop();
  });

  test("have what is long read from the store by the other, as far as the question goes", async () => {
    const cluster = new Cluster();
    const events = textOfEvents([{ type: "EventRaised", name: "e", data: "x".repeat(200_000) }]);
    const row = (turn: number): HistoryRow => ({ instance: 1, turn, at: turn, firstEvent: turn, events });
    cluster.history.push(row(0), row(1), row(2));
    cluster.connect();
    const news = [0, 1].map((turn) => ({
      turn,
      at: turn,
      firstEvent: turn,
      events: [{ type: "EventRaised", name: "e", data: "x".repeat(200_000) } as const],
    }));
    cluster.a.ask({ ...question("1", 2), news });
    await cluster.clock.advance(100);
    assert.deepEqual([cluster.worker.histories, cluster.a.answers.length], [["2 turns"], 1]);
    // Its generation is over: what the store has begins later.
    cluster.history.splice(0, 2);
    cluster.a.ask({ ...question("2", 2), news });
    await cluster.clock.advance(100);
    assert.deepEqual(cluster.worker.histories, ["2 turns", "no turns"]);
    cluster.stop();
  });

  test("whose worker is lost count a loss of their owner, who asks again or gives up", async () => {
    const cluster = new Cluster();
    const { a, b, clock, worker } = cluster;
    worker.answersAll = false;
    a.lossesMax = 1;
    cluster.connect();
    const turn = a.ask(question("1"));
    for (const lost of [1, 2]) {
      await clock.advance(1000);
      assert.equal(worker.asked.size, 1);
      worker.asked.clear();
      b.hosts.remove(worker, "lost");
      await clock.advance(100);
      assert.equal(a.losses, lost);
      cluster.connect();
    }
    assert.deepEqual([turn.isOver, worker.asked.size], [true, 0]);
    cluster.stop();
  });

  test("whose worker has left are given back, and wait for the next", async () => {
    const cluster = new Cluster();
    const { a, b, clock, worker } = cluster;
    worker.answersAll = false;
    cluster.connect();
    a.ask(question("1"));
    await clock.advance(1000);
    b.hosts.remove(worker, "left");
    cluster.publish(0);
    await clock.advance(3000);
    assert.deepEqual([a.losses, a.hosts.needed.length, a.hosts.hasCode("w", "1")], [0, 1, false]);
    worker.asked.clear();
    worker.answersAll = true;
    cluster.connect();
    await clock.advance(1000);
    assert.equal(a.answers.length, 1);
    cluster.stop();
  });

  test("of a member that is out of touch, or gone, wait for another one", async () => {
    const cluster = new Cluster();
    const { a, clock, worker } = cluster;
    worker.answersAll = false;
    cluster.connect();
    a.ask(question("1"));
    await clock.advance(1000);
    cluster.suspected.add("b");
    await clock.advance(1000);
    assert.equal(a.hosts.needed.length, 1);
    cluster.living.delete("b");
    await clock.advance(1000);
    assert.deepEqual([a.hosts.hasCode("w", "1"), a.losses, a.hosts.waitingCount], [false, 0, 1]);
    cluster.stop();
  });

  test("that are withdrawn are forgotten at once, or after a while if the other does not hear of it", async () => {
    for (const hears of [true, false]) {
      const cluster = new Cluster();
      const { a, clock, worker } = cluster;
      worker.answersAll = false;
      cluster.connect();
      const turn = a.ask(question("1"));
      await clock.advance(1000);
      if (!hears) cluster.hint = () => undefined;
      a.hosts.withdraw(turn);
      await clock.advance(100);
      assert.equal(worker.asked.size, hears ? 0 : 1);
      await clock.advance(30_000);
      assert.equal(worker.asked.size, 0);
      cluster.stop();
    }
  });

  test("of instances whose code was stopped are asked again when hosts have connected elsewhere", async () => {
    const cluster = new Cluster();
    cluster.a.stopped = [{ workflow: "w", version: "1" }];
    cluster.connect();
    await cluster.clock.advance(100);
    assert.deepEqual(cluster.a.hosted, ["b"]);
    cluster.publish(cluster.b.hosts.connections);
    await cluster.clock.advance(100);
    assert.deepEqual(cluster.a.hosted, ["b"]);
    cluster.b.hosts.onReady(new Worker("b/second", cluster.clock));
    cluster.publish(cluster.b.hosts.connections);
    await cluster.clock.advance(100);
    assert.deepEqual(cluster.a.hosted, ["b", "b"]);
    cluster.stop();
  });

  test("are answered once each, with their own answer, whatever is lost, late or doubled", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const cluster = new Cluster({ lossRate: 0.3, delayMsMax: 1500 }, seed);
      const { a, clock, worker } = cluster;
      cluster.connect();
      for (let n = 0; n < 10; n++) {
        a.ask(question(`${seed}-${n}`, n));
        await clock.advance(100);
      }
      for (let looks = 0; a.answers.length < 10 && looks < 600; looks++) {
        await clock.advance(1000);
        if (looks % 10 === 0) cluster.publish(cluster.b.hosts.connections);
      }
      assert.deepEqual(
        a.answers.toSorted(),
        Array.from({ length: 10 }, (_, n) => `${seed}-${n}: {"output":"${seed}-${n} ${n}"} by b`).toSorted(),
      );
      await clock.advance(60_000);
      assert.equal(worker.asked.size, 0, `seed ${seed}`);
      cluster.stop();
    }
  });
});
