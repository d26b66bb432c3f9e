import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { silentLogger } from "../base/logger.ts";
import { eventsIn } from "../kernel/event-text.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { Event } from "../kernel/event.ts";
import type { ShardClaim } from "../stores/store.ts";
import { TestClock } from "../testing/test-clock.ts";
import { DelegatedAttempts, hostOf, type AttemptHosting, workerOf } from "./delegated-attempts.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";
import { Lane } from "./lane.ts";
import { RigShard, RigStore } from "./shard.rig.ts";

const lostMs = 60_000;
const blockedMs = 170_000;

/** The other members, as the test says they are. */
class FakeHosting implements AttemptHosting {
  /** Slots that are held, and whether they were freed at once or later. */
  readonly slots = new Map<string, "held" | "freed" | "freed later">();
  readonly lostMs = lostMs;
  readonly blockedMs = blockedMs;
  readonly living = new Set<string>();
  readonly left = new Set<string>();
  readonly reporting = new Set<string>();
  /** When the newest view was asked for. */
  viewAskedAt = Infinity;
  readonly aborted: string[] = [];

  readonly isLiving = (member: string): boolean => this.living.has(member);
  readonly hasSeen = (moment: number): boolean => this.viewAskedAt >= moment;
  readonly hasLeft = (member: string): boolean => this.left.has(member);
  readonly isReporting = (attemptId: string): boolean => this.reporting.has(attemptId);
  readonly findMissing = async (): Promise<readonly string[]> => [];
  readonly abort = (host: string, attemptIds: readonly string[]): void => {
    this.aborted.push(`${host}: ${attemptIds.join(" ")}`);
  };
  readonly report = (): void => assert.fail("nothing is reported by whoever owns the shard");
  readonly add = (): void => assert.fail("nothing is kept by whoever owns the shard");
  readonly hold = ({ attemptId }: InstanceTaskRun): ((isOver: boolean) => void) => {
    this.slots.set(attemptId, "held");
    return (isOver) => void this.slots.set(attemptId, isOver ? "freed" : "freed later");
  };
  readonly reclaim = (): void => undefined;
  readonly progress: TaskProgress[] = [];
  readonly onProgress = (_run: InstanceTaskRun, progress: TaskProgress): void => void this.progress.push(progress);
}

describe("a worker's address", () => {
  test("begins with the member that granted the attempt", () => {
    assert.equal(hostOf("host:12:ab"), "host:12:ab");
    assert.equal(hostOf("host:12:ab/gpu-7"), "host:12:ab");
    assert.equal(hostOf("host:12:ab/gpu/7"), "host:12:ab");
    assert.equal(hostOf(""), "");
    assert.deepEqual(["host:12:ab", "host:12:ab/gpu-7"].map(workerOf), ["", "gpu-7"]);
  });
});

describe("an attempt that another member holds", () => {
  let clock: TestClock;
  let store: RigStore;
  let lane: Lane;
  let shard: RigShard;
  let hosting: FakeHosting;
  let delegated: DelegatedAttempts;

  beforeEach(async () => {
    clock = new TestClock();
    store = new RigStore();
    await store.open();
    lane = new Lane({ store, clock, logger: silentLogger, onHealth: () => undefined });
    shard = new RigShard(0, await store.claim(0), lane);
    hosting = new FakeHosting();
    delegated = delegatedOf({ released: false, previousOwner: "before" });
  });

  function delegatedOf(claim: Pick<ShardClaim, "released" | "previousOwner">): DelegatedAttempts {
    return new DelegatedAttempts(clock, hosting, { epoch: 2, incarnation: 0, lastBatch: 1, lastKey: 0, ...claim });
  }

  /** An attempt whose start, on that worker, is on record. */
  async function running(id: string, worker: string): Promise<InstanceTaskRun> {
    const actor = await shard.startNew(id);
    const run = shard.run(actor);
    actor.onStarted(run, { worker, startedAt: clock.now() });
    await lane.flush(shard);
    delegated.add(run, worker);
    return run;
  }

  async function events({ machine: { address } }: InstanceTaskRun["actor"]): Promise<Event["type"][]> {
    await lane.flush(shard);
    const turns = await store.loadHistory([address.key]);
    return turns.flatMap(({ events: text }) => eventsIn(text)).map(({ type }) => type);
  }

  async function lastEvent(run: InstanceTaskRun): Promise<string> {
    const types = await events(run.actor);
    const since = types.slice(types.lastIndexOf("TaskStarted") + 1);
    return since[0] ?? "";
  }

  test("stays where it is while its host lives and is heard", async () => {
    hosting.living.add("m");
    const run = await running("i", "m");
    for (let beats = 0; beats < 20; beats++) {
      assert.equal(delegated.classify(run.attemptId), "elsewhere");
      await clock.advance(lostMs - 1);
      assert.equal(delegated.renew(run.attemptId, "m"), true);
      delegated.sweep();
    }
    assert.equal(await lastEvent(run), "");
  });

  test("is as far as its host last said, and listeners hear each report once", async () => {
    hosting.living.add("m");
    const { attemptId } = await running("i", "m");
    assert.equal(delegated.progressOf(attemptId), undefined);
    delegated.noteProgress(attemptId, "m", { fraction: 0.5, message: "half" });
    delegated.noteProgress(attemptId, "m", { fraction: 0.5, message: "half" });
    delegated.noteProgress(attemptId, "a stranger", { fraction: 1 });
    delegated.noteProgress("unknown:1:0:1", "m", { fraction: 1 });
    assert.deepEqual(delegated.progressOf(attemptId), { fraction: 0.5, message: "half" });
    assert.deepEqual(hosting.progress, [{ fraction: 0.5, message: "half" }]);
    delegated.abort([attemptId]);
    assert.equal(delegated.progressOf(attemptId), undefined);
  });

  test("holds a slot of its domain until it is lost, taken back or not wanted any more", async () => {
    const [lost, back, aborted] = [await running("i", "m/w"), await running("j", "m/w"), await running("k", "m/w")];
    assert.deepEqual([...hosting.slots.values()], ["held", "held", "held"]);
    assert.equal(delegated.reclaim(back.attemptId, "m/w"), back);
    delegated.abort([aborted.attemptId]);
    assert.deepEqual([...hosting.slots.values()], ["held", "freed", "freed later"]);
    await sweepFor(lostMs);
    assert.equal(hosting.slots.get(lost.attemptId), "freed");
  });

  /** As often as a member does: one that stood still would hold nothing against others. */
  async function sweepFor(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += lostMs / 8) {
      await clock.advance(Math.min(lostMs / 8, ms - passed));
      delegated.sweep();
    }
  }

  test("is lost when nothing was heard of it for longer than its host may be blocked, although that lives", async () => {
    hosting.living.add("m");
    const run = await running("i", "m");
    await sweepFor(lostMs + blockedMs - 1);
    delegated.sweep();
    assert.equal(await lastEvent(run), "");
    await clock.advance(1);
    delegated.sweep();
    assert.equal(await lastEvent(run), "TaskInterrupted");
    assert.equal(delegated.renew(run.attemptId, "m"), false, "a lost one is not wanted any more");
  });

  test("is lost as soon as its host is no longer a member", async () => {
    hosting.living.add("m");
    const run = await running("i", "m");
    hosting.living.delete("m");
    delegated.sweep();
    assert.equal(await lastEvent(run), "TaskInterrupted");
    delegated.sweep();
    const interruptions = (await events(run.actor)).filter((type) => type === "TaskInterrupted");
    assert.equal(interruptions.length, 1, "and once only");
  });

  test("is taken back free of charge when its host took its leave", async () => {
    hosting.living.add("m");
    const run = await running("i", "m");
    hosting.living.delete("m");
    hosting.left.add("m");
    delegated.sweep();
    assert.equal(await lastEvent(run), "TasksWithdrawn");
  });

  test("was stopped, if it was the last owner's own and that one left the shard in good order", async () => {
    delegated = delegatedOf({ released: true, previousOwner: "before" });
    const own = await running("i", "before");
    const other = await running("j", "somebody");
    assert.equal(delegated.classify(own.attemptId), "stopped");
    assert.equal(delegated.classify(other.attemptId), "lost");
  });

  test("that the last owner took along is lost with it, however well it left the shard", async () => {
    delegated = delegatedOf({ released: true, previousOwner: "before" });
    hosting.living.add("before");
    const runs = [await running("i", "before"), await running("j", "before")];
    delegated.sweep();
    await clock.advance(lostMs - 1);
    delegated.renew(runs[1]?.attemptId ?? "", "before");
    await clock.advance(1);
    delegated.sweep();
    hosting.living.delete("before");
    delegated.sweep();
    for (const run of runs) assert.equal(await lastEvent(run), "TaskInterrupted");
  });

  test("is not judged by a view from before the shard was claimed: its host may have joined since", async () => {
    hosting.viewAskedAt = clock.monotonic() - 1;
    const run = await running("i", "m");
    assert.equal(delegated.classify(run.attemptId), "elsewhere");
    delegated.sweep();
    hosting.viewAskedAt = clock.monotonic();
    hosting.living.add("m");
    assert.equal(delegated.classify(run.attemptId), "elsewhere");
    hosting.living.delete("m");
    assert.equal(delegated.classify(run.attemptId), "lost");
  });

  test("that ended here while the shard was away is waited for until its report comes", async () => {
    const run = await running("i", "m");
    hosting.reporting.add(run.attemptId);
    assert.equal(delegated.classify(run.attemptId), "elsewhere");
  });

  test("on a remote worker outlives the worker's member, which may turn up at another", async () => {
    const run = await running("i", "m/gpu");
    delegated.sweep();
    await sweepFor(lostMs - 1);
    delegated.sweep();
    assert.equal(await lastEvent(run), "");
    assert.throws(() => delegated.renew(run.attemptId, "n"), { code: "CALL_UNANSWERED" });
    hosting.living.add("n");
    assert.equal(delegated.renew(run.attemptId, "n"), true);
    await sweepFor(lostMs - 1);
    delegated.sweep();
    assert.equal(await lastEvent(run), "");
    await clock.advance(1);
    delegated.sweep();
    assert.equal(await lastEvent(run), "TaskInterrupted");
  });

  test("is not lost because this member stood still, and has half the time to be heard of after that", async () => {
    hosting.living.add("m");
    const run = await running("i", "m");
    await clock.advance(3 * lostMs);
    delegated.sweep();
    await sweepFor(lostMs / 2 + blockedMs - 1);
    assert.equal(await lastEvent(run), "");
    await sweepFor(1);
    assert.equal(await lastEvent(run), "TaskInterrupted");
  });

  test("is not lost while this member does not reach the store, and has half the time to be heard of after that", async () => {
    hosting.living.add("m");
    const runs = [await running("i", "m"), await running("j", "m/gpu")];
    hosting.viewAskedAt = clock.monotonic();
    await sweepFor(3 * lostMs);
    hosting.viewAskedAt = Infinity;
    await sweepFor(lostMs / 2 - 1);
    for (const run of runs) assert.equal(await lastEvent(run), "");
    assert.equal(delegated.delete(runs[0]?.attemptId ?? "", "m"), true, "the result that waited for the store counts");
    await sweepFor(1);
    assert.equal(await lastEvent(runs[1] as InstanceTaskRun), "TaskInterrupted");
  });

  test("whose end is known is delegated no longer", async () => {
    hosting.living.add("m");
    const run = await running("i", "m");
    assert.equal(delegated.delete(run.attemptId, "another"), false, "only its host speaks for it");
    assert.equal(delegated.delete(run.attemptId, "m"), true);
    assert.equal(delegated.delete(run.attemptId, "m"), false, "the report of its end counts once");
    assert.equal(delegated.renew(run.attemptId, "m"), false);
    hosting.living.delete("m");
    delegated.sweep();
    assert.equal(await lastEvent(run), "");
  });

  test("that a worker took from one member to the next may be spoken for by each, in whatever order", async () => {
    for (const member of ["n", "o"]) hosting.living.add(member);
    const run = await running("i", "m/gpu");
    assert.equal(delegated.renew(run.attemptId, "o"), true);
    assert.equal(delegated.renew(run.attemptId, "n"), true, "it came here before, and its word after");
    assert.equal(delegated.delete(run.attemptId, "o"), true);
  });

  test("that a worker took to a member that is not known yet is neither wanted nor unwanted", async () => {
    const run = await running("i", "m/gpu");
    const unknown = { code: "CALL_UNANSWERED" };
    assert.throws(() => delegated.renew(run.attemptId, "n"), unknown);
    assert.throws(() => delegated.delete(run.attemptId, "n"), unknown);
    hosting.living.add("n");
    assert.equal(delegated.delete(run.attemptId, "n"), true, "its end may be the first that is heard of it");
  });

  test("on a remote worker is lost with that, however well its member left", async () => {
    delegated = delegatedOf({ released: true, previousOwner: "before" });
    const run = await running("i", "before/gpu");
    hosting.left.add("before");
    await sweepFor(lostMs);
    delegated.sweep();
    assert.equal(await lastEvent(run), "TaskInterrupted");
  });

  test("that nobody wants is stopped where it is, each host being told once", async () => {
    for (const member of ["m", "n"]) hosting.living.add(member);
    const runs = [
      await running("i", "m"),
      await running("j", "n"),
      await running("k", "m/gpu"),
      await running("l", "m"),
    ];
    const [i, j, k, l] = runs.map(({ attemptId }) => attemptId) as [string, string, string, string];
    delegated.renew(k, "n");
    delegated.abort([i, j, k, "never heard of"]);
    assert.deepEqual(hosting.aborted, [`m: ${i} ${k}`, `n: ${j} ${k}`], "whoever has said that it has it");
    assert.deepEqual(
      [i, j, k, l].map((id) => delegated.renew(id, "m")),
      [false, false, false, true],
    );
    delegated.abort([i, j, k]);
    assert.equal(hosting.aborted.length, 2);
  });

  test("is stopped when its instance is taken out of service", async () => {
    hosting.living.add("m");
    const quarantined = await running("i", "m");
    const other = await running("j", "m");
    delegated.forget(quarantined.actor);
    assert.deepEqual(hosting.aborted, [`m: ${quarantined.attemptId}`]);
    assert.equal(delegated.renew(other.attemptId, "m"), true);
    assert.equal(await lastEvent(quarantined), "", "nothing is said to the instance");
  });
});
