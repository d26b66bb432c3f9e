/** Spec §10.3, §11.1: members in processes of their own on PostgreSQL and NATS; one instance uses the pools of all that run jobs. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { startNats } from "../../scripts/servers/nats-server.ts";
import { eventually } from "../support/until.ts";
import { newDatabase } from "./databases.ts";
import {
  type PoolAnswer,
  type PoolMemberPlace,
  type PoolQuestion,
  slotsOfMember,
  taskCount,
  type TaskStart,
} from "./pool-member.ts";

class PoolMember {
  /** How many tasks it has started. */
  started = 0;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #number = 0;

  constructor(place: PoolMemberPlace) {
    this.#child = fork(join(import.meta.dirname, "pool-member.ts"), [JSON.stringify(place)], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    this.#child.on("message", (message: PoolAnswer | TaskStart) => {
      if ("type" in message) {
        this.started++;
        return;
      }
      const { number, value, error } = message;
      const waiting = this.#waiting.get(number);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
  }

  /** Resolves when the member has joined. */
  ready(): Promise<unknown> {
    return this.#answer(0);
  }

  ask(asked: { type: "run"; id: string } | { type: "shards" | "open" | "stop" }): Promise<unknown> {
    const number = ++this.#number;
    const answer = this.#answer(number);
    this.#child.send({ ...asked, number } satisfies PoolQuestion);
    return answer;
  }

  async kill(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    await this.ask({ type: "stop" });
    this.#child.disconnect();
    await ended;
  }

  #answer(number: number): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(number, answer);
    return answer.promise;
  }
}

async function start(
  t: TestContext,
  members: readonly Pick<PoolMemberPlace, "name" | "roles" | "isHeld">[],
): Promise<PoolMember[]> {
  // Members stop before the database is dropped.
  const stopped = new AsyncDisposableStack();
  t.after(() => stopped.disposeAsync());
  const storage = await newDatabase("postgres", t);
  const bus = await startNats();
  t.after(async () => {
    await bus.process.stop();
    bus.process.remove();
  });
  return await Promise.all(
    members.map(async (each) => {
      const member = new PoolMember({ ...each, storage, bus: bus.url });
      stopped.defer(() => member.stop());
      await member.ready();
      return member;
    }),
  );
}

/** How many tasks each member has run, from the outputs. */
function countsOf(outputs: unknown): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of Object.values(outputs as Record<string, string>)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

describe("10.3 one instance on several members", () => {
  test("10.3 its tasks run on the pools of all three", async (t) => {
    const roles = ["server", "worker"] as const;
    const members = await start(
      t,
      ["a", "b", "c"].map((name) => ({ name, roles, isHeld: true })),
    );
    const outputs = members[0]?.ask({ type: "run", id: "wide-1" });
    await eventually(() =>
      assert.deepEqual(
        members.map(({ started }) => started),
        members.map(() => slotsOfMember),
      ),
    );
    await Promise.all(members.map((member) => member.ask({ type: "open" })));
    const counts = countsOf(await outputs);
    assert.deepEqual(Object.keys(counts).toSorted(), ["a", "b", "c"]);
    assert.equal(
      Object.values(counts).reduce((sum, count) => sum + count),
      taskCount,
    );
  });

  test("11.1 those of a server run on workers, which own nothing, also if one of them is killed", async (t) => {
    const [server, one, two] = await start(t, [
      { name: "s", roles: ["server"] },
      { name: "w1", roles: ["worker"] },
      { name: "w2", roles: ["worker"] },
    ]);
    assert.ok(server !== undefined && one !== undefined && two !== undefined);
    await eventually(async () => assert.equal(await server.ask({ type: "shards" }), 8));
    assert.deepEqual([await one.ask({ type: "shards" }), await two.ask({ type: "shards" })], [0, 0]);
    const first = countsOf(await two.ask({ type: "run", id: "wide-2" }));
    assert.deepEqual(Object.keys(first).toSorted(), ["w1", "w2"]);
    const running = server.ask({ type: "run", id: "wide-3" });
    await one.kill();
    const second = countsOf(await running);
    assert.equal((second["w1"] ?? 0) + (second["w2"] ?? 0), taskCount);
  });
});
