/** Spec §11.3: a member in a process of its own whose event loop is blocked, beside another member that watches it. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { Engine } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { ownersOf } from "../../src/cluster/placement.ts";
import { memberLeaseMs } from "../../src/cluster/timings.ts";
import { storage as openStorage } from "../../src/storage.ts";
import { until } from "../support/until.ts";
import { execute, newDatabase, type ServerKind } from "./databases.ts";
import { shardCount, type StalledMemberNews, type StalledMemberPlace, stallTimings } from "./stalled-member.ts";

const leaseMs = memberLeaseMs(stallTimings);

const shardTable: Readonly<Record<ServerKind, string>> = { postgres: "heddle.shard", mysql: "heddle_shard" };

interface Scene {
  readonly child: ChildProcess;
  readonly events: string[];
  /** Owner and epoch of each shard, as the store has them. */
  readonly shards: () => Promise<string[]>;
  readonly owners: () => Promise<string[]>;
  /** Resolves when the job has blocked the event loop for so long. */
  readonly spin: (ms: number) => Promise<void>;
}

/** The member that is to be blocked owns some of the shards, and the other one the rest. With as many shards, none of the two is without. */
async function scene(t: TestContext, kind: ServerKind, stallMs: number): Promise<Scene> {
  const stopped = new AsyncDisposableStack();
  t.after(() => stopped.disposeAsync());
  const storage = await newDatabase(kind, t);
  const place: StalledMemberPlace = { storage, stallMs };
  const child = fork(join(import.meta.dirname, "stalled-member.ts"), [JSON.stringify(place)], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  stopped.defer(async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGCONT");
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  const events: string[] = [];
  const spun = Promise.withResolvers<void>();
  child.once("exit", (code) => spun.reject(new Error(`the member ended with ${code}`)));
  spun.promise.catch(() => undefined);
  child.on("message", (news: StalledMemberNews) => {
    if ("spun" in news) spun.resolve();
    else events.push(news.event);
  });
  const timings = { ...stallTimings, stallMs };
  const engine = new Engine({
    storage: await openStorage(storage),
    cluster: { name: "watching", shards: shardCount, timings },
    logger: silentLogger,
  });
  await engine.start();
  stopped.defer(() => engine.stop());
  const shards = async (): Promise<string[]> => {
    const rows = await execute(storage, `SELECT owner, epoch FROM ${shardTable[kind]} ORDER BY shard`);
    return (rows as { owner: string; epoch: string }[]).map(({ owner, epoch }) => `${owner} ${epoch}`);
  };
  const owners = async (): Promise<string[]> =>
    [...new Set((await shards()).map((each) => each.replace(/:.*$/, "")))].sort();
  // Every shard is where placement puts it, so none moves any more, and the child has told of every one that it opened and released.
  const count = (all: readonly string[], what: string): number => all.filter((each) => each.startsWith(what)).length;
  await until(
    async () => {
      const now = (await shards()).map((each) => each.replace(/ \d+$/, ""));
      const members = new Set(now);
      if (members.size !== 2 || ownersOf(shardCount, members).join(" ") !== now.join(" ")) return false;
      return count(now, "stalled:") === count(events, "shard-opened") - count(events, "shard-released");
    },
    { everyMs: stallTimings.beatMs },
  );
  const spin = async (ms: number): Promise<void> => {
    child.send({ ms });
    await spun.promise;
  };
  return { child, events, shards, owners, spin };
}

describe("11.3 a member whose event loop is blocked", () => {
  for (const kind of ["postgres", "mysql"] as const) {
    test(`on ${kind} keeps its shards for longer than its lease: its thread renews it`, async (t) => {
      const { events, shards, spin } = await scene(t, kind, 60_000);
      const before = await shards();
      events.length = 0;
      await spin(3 * leaseMs);
      assert.deepEqual(await shards(), before);
      assert.deepEqual(events, []);
    });
  }

  test("for longer than timings.stallMs gives up by itself: others take over while it is blocked", async (t) => {
    const { events, owners, spin } = await scene(t, "postgres", 2000);
    let isSpinning = true;
    const spun = spin(5 * leaseMs).then(() => void (isSpinning = false));
    await until(async () => (await owners()).join(" ") === "watching", { everyMs: 100 });
    assert.ok(isSpinning);
    await spun;
    await until(() => events.includes("gone"));
    assert.ok(events.includes("lapsed"));
  });

  test("and whose thread is stopped as well loses its shards, and notices when it goes on", async (t) => {
    const { child, events, owners, spin } = await scene(t, "postgres", 60_000);
    const spun = spin(2 * leaseMs);
    child.kill("SIGSTOP");
    await until(async () => (await owners()).join(" ") === "watching", { everyMs: 100 });
    assert.ok(!events.includes("gone"));
    child.kill("SIGCONT");
    await spun;
    await until(() => events.includes("gone"));
  });
});
