import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import * as fc from "fast-check";
import type { MaxInstances, OverflowPolicy } from "../kernel/dag/dag-spec.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import { firstKey } from "../stores/instance-key.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type Changes, type InstanceRow, noChanges, type OutboxRow } from "../stores/store.ts";
import { Definitions } from "./definitions.ts";
import type { GateAnswer, EnterGate, LeaveGate } from "./outbox.ts";
import { FencingToken } from "./fencing-token.ts";
import { gateAddress, SharedGates } from "./shared-gates.ts";

const shardCount = 4;
const gateShard = 2;

/** The store as it is behind a gate, which says nothing of its own to it. Instances live on shard 0. */
class Rig {
  readonly store = new MemoryStore();
  readonly #tokens: FencingToken[] = [];
  readonly #rows = new Map<string, InstanceRow>();
  #messages = 0;

  async open(): Promise<void> {
    await this.store.open();
    for (let shard = 0; shard < shardCount; shard++) {
      const claim = await this.store.claimShard(shard, "rig");
      assert.ok(claim);
      this.#tokens.push(new FencingToken(shard, claim));
    }
  }

  /** One that knows nothing yet, as after its shard has moved. */
  gates(): SharedGates {
    return new SharedGates({
      shard: gateShard,
      store: this.store,
      definitions: new Definitions(this.store),
    });
  }

  /** A version of the workflow. */
  async define(version: string, maxInstances?: MaxInstances): Promise<void> {
    const nodes = [{ nodeId: 1, nodeName: "a", jobName: "work" }];
    const spec = JSON.stringify({ nodes, edges: [], ...(maxInstances !== undefined && { maxInstances }) });
    await this.store.saveDefinitions([{ name: "w", version, spec, createdAt: 0 }]);
  }

  async instance(
    id: string,
    status: InstanceStatus,
    options: { version?: string; createdAt?: number; quarantined?: string } = {},
  ): Promise<void> {
    const key = firstKey(0) + this.#rows.size;
    const { version = "1", createdAt = key, quarantined = null } = options;
    const row: InstanceRow = {
      key,
      id,
      workflow: "w",
      version,
      status,
      generation: 1,
      wakeAt: null,
      active: false,
      app: null,
      waitingTasks: 0,
      createdAt,
      updatedAt: createdAt,
      quarantined,
      history: null,
    };
    this.#rows.set(id, row);
    await this.#write(0, { instances: [row] });
  }

  async begin(id: string): Promise<void> {
    await this.#write(0, { instances: [{ ...this.#row(id), status: "Running" }] });
  }

  async end(id: string): Promise<void> {
    await this.#write(0, { instancesEnded: [this.#row(id).key] });
  }

  #row(id: string): InstanceRow {
    const row = this.#rows.get(id);
    assert.ok(row);
    return row;
  }

  /** An answer of an earlier owner that the instance has not read yet. */
  async underWay(message: GateAnswer, source = gateShard): Promise<void> {
    const row: OutboxRow = { source, target: 0, number: ++this.#messages, body: JSON.stringify(message) };
    await this.#write(source, { outbox: [row] });
  }

  async #write(shard: number, changes: Partial<Changes>): Promise<void> {
    const token = this.#tokens[shard];
    assert.ok(token);
    await this.store.commit({ fences: [token.fence(false)], changes: { ...noChanges(), ...changes } });
    token.batch++;
  }
}

function atMost(max: number, policy: OverflowPolicy = "queue"): MaxInstances {
  return { max, policy };
}

function enters(instanceId: string, limit: MaxInstances, isReopened = false): EnterGate {
  return { kind: "enter-gate", from: 1, to: gateAddress("w"), workflow: "w", instanceId, limit, isReopened };
}

function leaves(instanceId: string): LeaveGate {
  return { kind: "leave-gate", from: 1, to: gateAddress("w"), workflow: "w", instanceId };
}

/** `a`, or `a: fail` for one that is refused. */
function shown(answers: readonly GateAnswer[]): string[] {
  return answers.map(({ to, refusal }) => (refusal === undefined ? to : `${to}: ${refusal.refuse}`));
}

describe("a gate that all members share", () => {
  let rig: Rig;

  beforeEach(async () => {
    rig = new Rig();
    await rig.open();
  });

  test("lets in as many as may be, and the next in order of arrival when one leaves", async () => {
    const gates = rig.gates();
    const answers = [];
    for (const id of ["a", "b", "c", "d"]) answers.push(shown(await gates.read(enters(id, atMost(2)))));
    assert.deepEqual(answers, [["a"], ["b"], [], []]);
    assert.deepEqual(shown(await gates.read(leaves("b"))), ["c"]);
    assert.deepEqual(shown(await gates.read(leaves("a"))), ["d"]);
    assert.deepEqual(shown(await gates.read(leaves("c"))), []);
  });

  for (const policy of ["skip", "fail"] as const) {
    test(`with ${policy} refuses above the maximum, and says how many there were`, async () => {
      const gates = rig.gates();
      assert.deepEqual(await gates.read(enters("a", atMost(1, policy))), [{ kind: "admit", from: 0, to: "a" }]);
      assert.deepEqual(await gates.read(enters("b", atMost(1, policy))), [
        { kind: "admit", from: 0, to: "b", refusal: { refuse: policy, reason: "too many instances(2>1)" } },
      ]);
      assert.deepEqual(await gates.read(leaves("b")), [], "it was never in");
      assert.deepEqual(await gates.read(leaves("a")), []);
      assert.deepEqual(shown(await gates.read(enters("c", atMost(1, policy)))), ["c"]);
    });
  }

  test("one that leaves while it waits is not let in", async () => {
    const gates = rig.gates();
    for (const id of ["a", "b", "c"]) await gates.read(enters(id, atMost(1)));
    assert.deepEqual(shown(await gates.read(leaves("b"))), []);
    assert.deepEqual(shown(await gates.read(leaves("a"))), ["c"]);
  });

  test("one that asks again hears the same again", async () => {
    const gates = rig.gates();
    await gates.read(enters("a", atMost(1)));
    await gates.read(enters("b", atMost(1)));
    assert.deepEqual(shown(await gates.read(enters("a", atMost(1)))), ["a"]);
    assert.deepEqual(shown(await gates.read(enters("b", atMost(1)))), []);
    assert.deepEqual(shown(await gates.read(leaves("a"))), ["b"], "and has not lost its place");
  });

  test("one that a user reopens is in, whatever the maximum, and counts", async () => {
    const gates = rig.gates();
    await gates.read(enters("a", atMost(1)));
    assert.deepEqual(await gates.read(enters("b", atMost(1), true)), []);
    await gates.read(enters("c", atMost(1)));
    assert.deepEqual(shown(await gates.read(leaves("a"))), []);
    assert.deepEqual(shown(await gates.read(leaves("b"))), ["c"]);
  });

  test("the maximum that counts is that of the one that asked last", async () => {
    const gates = rig.gates();
    for (const id of ["a", "b", "c"]) await gates.read(enters(id, atMost(1)));
    assert.deepEqual(shown(await gates.read(enters("d", atMost(3)))), ["b", "c"]);
    await gates.read(enters("e", atMost(1)));
    assert.deepEqual(shown(await gates.read(leaves("a"))), []);
  });

  test("workflows do not know of each other", async () => {
    const gates = rig.gates();
    await gates.read(enters("a", atMost(1)));
    assert.deepEqual(shown(await gates.read({ ...enters("b", atMost(1)), workflow: "v" })), ["b"]);
  });
});

describe("a gate that is made anew, because its shard has moved", () => {
  let rig: Rig;

  beforeEach(async () => {
    rig = new Rig();
    await rig.open();
    await rig.define("1", atMost(1));
  });

  test("finds who is in and who waits, the oldest first", async () => {
    await rig.instance("in", "Running");
    await rig.instance("younger", "Ready", { createdAt: 200 });
    await rig.instance("older", "Ready", { createdAt: 100 });
    const gates = rig.gates();
    assert.deepEqual(shown(await gates.read(enters("new", atMost(1)))), []);
    assert.deepEqual(shown(await gates.read(leaves("in"))), ["older"]);
    assert.deepEqual(shown(await gates.read(leaves("older"))), ["younger"]);
    assert.deepEqual(shown(await gates.read(leaves("younger"))), ["new"]);
  });

  test("counts one that is paused, and one that is out of service while it runs", async () => {
    await rig.define("2", atMost(2));
    await rig.instance("paused", "Paused", { version: "2" });
    await rig.instance("quarantined", "Running", { version: "2", quarantined: "a bug" });
    assert.deepEqual(shown(await rig.gates().read(enters("new", atMost(2)))), []);
  });

  test("passes over one that waits out of service: it asks again when it is back", async () => {
    await rig.instance("quarantined", "Ready", { quarantined: "a bug" });
    const gates = rig.gates();
    assert.deepEqual(shown(await gates.read(enters("new", atMost(1)))), ["new"]);
    await gates.read(enters("quarantined", atMost(1)));
    assert.deepEqual(shown(await gates.read(leaves("new"))), ["quarantined"]);
  });

  test("counts one that was let in and has not read so yet", async () => {
    await rig.instance("let in", "Ready");
    await rig.underWay({ kind: "admit", from: 0, to: "let in" });
    const gates = rig.gates();
    assert.deepEqual(shown(await gates.read(enters("new", atMost(1)))), []);
    assert.deepEqual(shown(await gates.read(leaves("let in"))), ["new"]);
  });

  test("does not count one that was refused and has not read so yet", async () => {
    await rig.instance("refused", "Ready");
    await rig.underWay({ kind: "admit", from: 0, to: "refused", refusal: { refuse: "fail", reason: "too many" } });
    assert.deepEqual(shown(await rig.gates().read(enters("new", atMost(1)))), ["new"]);
  });

  test("is not confused by messages of other shards", async () => {
    await rig.instance("waits", "Ready");
    await rig.underWay({ kind: "admit", from: 0, to: "waits" }, gateShard + 1);
    assert.deepEqual(shown(await rig.gates().read(enters("new", atMost(1)))), ["waits"]);
  });

  for (const policy of ["skip", "fail"] as const) {
    test(`with ${policy}, leaves those that have yet to ask to their messages`, async () => {
      await rig.define("2", atMost(1, policy));
      await rig.instance("first", "Ready", { version: "2" });
      await rig.instance("second", "Ready", { version: "2" });
      const gates = rig.gates();
      assert.deepEqual(shown(await gates.read(enters("first", atMost(1, policy)))), ["first"]);
      assert.deepEqual(shown(await gates.read(enters("second", atMost(1, policy)))), [`second: ${policy}`]);
    });
  }

  test("lets the next one in with the leaving that it was made for", async () => {
    await rig.instance("next", "Ready");
    assert.deepEqual(shown(await rig.gates().read(leaves("gone"))), ["next"]);
  });

  test("takes the maximum of the definition that was started last", async () => {
    await rig.define("2", atMost(3));
    await rig.instance("old", "Running", { version: "1", createdAt: 1 });
    for (const [place, id] of ["x", "y", "z"].entries()) {
      await rig.instance(id, "Ready", { version: "2", createdAt: 2 + place });
    }
    assert.deepEqual(shown(await rig.gates().read(leaves("gone"))), ["x", "y"]);
  });

  test("does not count instances of a version without a maximum: they never say that they leave", async () => {
    await rig.define("free");
    await rig.define("zero", atMost(0));
    await rig.instance("unlimited", "Running", { version: "free" });
    await rig.instance("zero", "Running", { version: "zero" });
    await rig.instance("limited", "Ready");
    assert.deepEqual(shown(await rig.gates().read(enters("limited", atMost(1)))), ["limited"]);
  });

  test("finds thousands", async () => {
    for (let place = 0; place < 2100; place++) await rig.instance(`i${place}`, "Ready", { createdAt: 10_000 - place });
    const gates = rig.gates();
    assert.deepEqual(shown(await gates.read(leaves("gone"))), ["i2099"]);
    assert.deepEqual(shown(await gates.read(leaves("i2099"))), ["i2098"]);
  });
});

test("a shared gate never lets in more than the maximum, forgets nobody, and may be made anew at any time", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant("enter" as const), who: fc.nat(50) }) },
    { weight: 4, arbitrary: fc.record({ does: fc.constant("leave" as const), who: fc.nat(50) }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant("move" as const), who: fc.nat(50) }) },
  );
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 3 }),
    fc.array(step, { maxLength: 60 }),
    async (max, steps) => {
      const model = new Model(max);
      await model.open();
      for (const { does, who } of steps) {
        if (does === "enter") await model.enter();
        else if (does === "leave") await model.leave(who);
        else model.move();
        model.check();
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

/** A gate with its instances, whose rows are as their turns would write them. */
class Model {
  readonly #max: number;
  readonly #rig = new Rig();
  readonly #inside = new Set<string>();
  readonly #waiting: string[] = [];
  #gates: SharedGates;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
    this.#gates = this.#rig.gates();
  }

  async open(): Promise<void> {
    await this.#rig.open();
    await this.#rig.define("1", atMost(this.#max));
  }

  move(): void {
    this.#gates = this.#rig.gates();
  }

  async enter(): Promise<void> {
    const id = `i${this.#count++}`;
    this.#waiting.push(id);
    await this.#rig.instance(id, "Ready", { createdAt: this.#count });
    await this.#take(await this.#gates.read(enters(id, atMost(this.#max))));
  }

  async leave(who: number): Promise<void> {
    const here = [...this.#inside, ...this.#waiting];
    const id = here[who % Math.max(1, here.length)];
    if (id === undefined) return;
    if (!this.#inside.delete(id)) this.#waiting.splice(this.#waiting.indexOf(id), 1);
    await this.#rig.end(id);
    await this.#take(await this.#gates.read(leaves(id)));
  }

  async #take(answers: readonly GateAnswer[]): Promise<void> {
    for (const { to } of answers) {
      assert.equal(to, this.#waiting.shift(), "in order of arrival");
      this.#inside.add(to);
      await this.#rig.begin(to);
    }
  }

  check(): void {
    assert.ok(this.#inside.size <= this.#max);
    assert.ok(this.#waiting.length === 0 || this.#inside.size === this.#max, "nobody waits while there is a place");
  }
}
