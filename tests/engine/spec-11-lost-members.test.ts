/** Spec §11.3 and §11.4: members that are silent, slow, cut off or dead. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { type HandCall, HandJob } from "../runtime/hand-job.ts";
import { EngineClusterRig, lookMs, type RigMember } from "./engine-cluster-rig.ts";
import { says, task, taskOf, workflow } from "./rig.ts";

const one = workflow("one", task("t", "work").withTimeout(3600));
const two = workflow(
  "two",
  task("a", "work").withTimeout(3600),
  task("b", "work").withTimeout(3600).withDependency("a"),
);

/** Ways for a member to fall silent: what it asks of the store fails at once, or is not answered until it is mended. */
const silences = {
  "whose calls to the store fail": ({ connection }: RigMember) => connection.fail(),
  "whose calls to the store hang": ({ connection }: RigMember) => connection.hang(),
} as const;

interface Silenced {
  readonly rig: EngineClusterRig;
  readonly clock: EngineClusterRig["clock"];
  readonly a: RigMember;
  readonly b: RigMember;
  readonly c: RigMember;
  readonly work: HandJob;
  /** Of an instance that lives on `b`. */
  readonly id: string;
  readonly call: HandCall;
  /** When `b` fell silent. */
  readonly since: number;
}

/** Three members, of which `b` has an instance with a running task, and falls silent. */
async function silenced(t: TestContext, silence: (member: RigMember) => void, definition = one): Promise<Silenced> {
  const work = new HandJob();
  const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [work.job] });
  const { clock } = rig;
  const id = await rig.idOn(b);
  await clock.until(a.engine.submitWorkflow(definition, { instanceId: id }));
  const call = await clock.until(work.call([...definition.tasks.values()][0]?.name ?? "", { instanceId: id }));
  await clock.advance(lookMs);
  silence(b);
  return { rig, clock, a, b, c, work, id, call, since: clock.now() };
}

/** The owner of each shard and the epoch of its claim, without the number of batches. */
async function owners(rig: EngineClusterRig): Promise<string[]> {
  return (await rig.view()).shards.map(({ shard, owner, epoch }) => `${shard} ${owner} ${epoch}`);
}

/** Whom each of the others holds for silent. */
function suspects(...members: readonly RigMember[]): string[][] {
  return members.map(({ view }) => view.filter(({ isSuspected }) => isSuspected).map(({ address }) => address));
}

for (const [which, silence] of Object.entries(silences)) {
  describe(`11.3 a member ${which}`, () => {
    test("11.3 is suspected after 10 s, and not before", async (t) => {
      const { clock, a, c } = await silenced(t, silence);
      // The last beat that was seen may be as old as one interval.
      await clock.advance(10_000 - lookMs);
      assert.deepEqual(suspects(a, c), [[], []]);
      await clock.advance(2 * lookMs);
      assert.deepEqual(suspects(a, c), [["b"], ["b"]]);
      for (const member of [a, c]) {
        const event = member.events.find(({ type }) => type === "suspected");
        assert.ok(event?.type === "suspected" && event.silentMs >= 10_000 && event.silentMs < 10_000 + lookMs);
        assert.ok(member.log.find("warn", /member unreachable/));
      }
    });

    test("11.3 is back within 30 s more: nothing has moved, and what ran runs on", async (t) => {
      const { rig, clock, a, b, c, id, work, call } = await silenced(t, silence);
      const before = await owners(rig);
      await clock.advance(30_000);
      b.connection.mend();
      await clock.advance(lookMs);
      assert.deepEqual(suspects(a, b, c), [[], [], []]);
      assert.deepEqual(await owners(rig), before);
      assert.deepEqual(a.heardOf("b"), ["joined", "suspected", "returned"]);
      assert.deepEqual(b.heardOf("b"), ["joined"]);
      assert.ok(!call.ctx.signal.aborted);
      call.finish("kept");
      assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance(id)), { t: "kept" });
      assert.equal(work.calls.length, 1);
    });

    test("11.3 is back at the last moment: nothing has moved, and what it stopped for safety runs again", async (t) => {
      const { rig, clock, a, b, id, work, call } = await silenced(t, silence);
      const before = await owners(rig);
      // Of the 40 s it waits only 36 itself. Its last beat, from which all count, was up to an interval ago.
      await clock.advance(36_000);
      assert.ok(call.ctx.signal.aborted);
      b.connection.mend();
      await clock.advance(lookMs);
      assert.deepEqual(await owners(rig), before);
      assert.deepEqual(a.heardOf("b"), ["joined", "suspected", "returned"]);
      assert.deepEqual(b.heardOf("b"), ["joined", "lapsed", "regained"]);
      (await clock.until(work.call("t", { instanceId: id, after: 1 }))).finish("again");
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "again" });
    });

    test("11.3 is not back: it is lost, its shards are taken over and its instances go on elsewhere", async (t) => {
      const { rig, clock, a, b, c, id, work } = await silenced(t, silence, two);
      const lostId = b.id;
      await clock.advance(40_000 + 2 * lookMs);
      assert.deepEqual(a.heardOf("b"), ["joined", "suspected", "lost"]);
      assert.ok(a.log.find("warn", /member lost; its shards are taken over/));
      assert.deepEqual(
        a.view.map(({ address }) => address),
        ["a", "c"],
      );
      assert.ok((await rig.view()).shards.every(({ owner }) => owner !== lostId));
      (await clock.until(work.call("a", { instanceId: id, after: 1 }))).finish("elsewhere");
      (await clock.until(work.call("b", { instanceId: id }))).finish("further");
      assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance(id)), { a: "elsewhere", b: "further" });
    });

    test("11.3 gives its jobs the signal before anybody runs them elsewhere", async (t) => {
      const { clock, call, work } = await silenced(t, silence);
      let abortedAt = Infinity;
      call.ctx.signal.addEventListener("abort", () => (abortedAt = clock.now()));
      await clock.until(work.call("t", { after: 1 }));
      assert.ok(abortedAt < clock.now(), "stopped here before it was started there");
      assert.ok(work.calls[1]?.ctx.attemptId === call.ctx.attemptId);
      says("MEMBER_LOST", '"t"', "lease has lapsed", "run elsewhere")(call.ctx.signal.reason);
    });

    test("11.3 says that it stands still, starts nothing, and goes on if nobody took over", async (t) => {
      const { rig, clock, a, b, c, call, work } = await silenced(t, silence);
      // So nobody removes it.
      for (const { connection } of [a, c]) connection.fail();
      await clock.advance(60_000);
      assert.ok(call.ctx.signal.aborted);
      assert.deepEqual(b.heardOf("b"), ["joined", "lapsed"]);
      assert.ok(b.log.find("warn", /the lease of this member has expired/));
      assert.equal(work.calls.length, 1);
      for (const { connection } of [a, b, c]) connection.mend();
      await rig.spread();
      assert.deepEqual(b.heardOf("b"), ["joined", "lapsed", "regained"]);
      (await clock.until(work.call("t", { after: 1 }))).finish("after all");
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(call.ctx.instanceId)), { t: "after all" });
    });

    test("11.3 comes back after it was lost: it joins under a new id and has its part again", async (t) => {
      const { rig, clock, a, b } = await silenced(t, silence);
      const lostId = b.id;
      await clock.advance(90_000);
      b.connection.mend();
      await rig.spread();
      assert.deepEqual(b.heardOf("b"), ["joined", "lapsed", "gone", "joined"]);
      assert.deepEqual(a.heardOf("b"), ["joined", "suspected", "lost", "joined"]);
      assert.notEqual(b.id, lostId);
      assert.ok(b.shards > 0);
      assert.deepEqual(suspects(a, b), [[], []]);
    });

    test("11.3 can not write after it was lost, and drops what it had not written", async (t) => {
      const { rig, clock, a, b, c, id, call, work } = await silenced(t, silence, two);
      // Done in time, as it thinks; but nobody will ever know.
      call.finish("too late");
      const told = assert.rejects(b.engine.updateContext(id, { late: true }), says("CALL_UNANSWERED"));
      await clock.advance(90_000);
      (await clock.until(work.call("a", { instanceId: id, after: 1 }))).finish("in time");
      await clock.until(a.engine.updateContext(id, { by: "a" }));
      b.connection.mend();
      await rig.spread();
      await told;
      assert.equal(b.engine.health.status, "up");
      for (const { engine } of [a, b, c]) {
        const { context, completedTasks } = await clock.until(engine.getWorkflowInstanceBreakpoint(id));
        assert.deepEqual([context, completedTasks], [{ by: "a" }, ["a"]]);
      }
      (await clock.until(work.call("b", { instanceId: id }))).finish("end");
      assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { a: "in time", b: "end" });
    });

    test("11.3 never tells an old state: it answers when it knows better, or not at all", async (t) => {
      const { rig, clock, a, b, id, work } = await silenced(t, silence, two);
      await clock.advance(50_000);
      (await clock.until(work.call("a", { instanceId: id, after: 1 }))).finish("elsewhere");
      await rig.until(a, id, (view) => taskOf(view, "a").status === "Success");
      const unanswered = b.engine.getWorkflowInstanceStatus(id);
      await assert.rejects(clock.until(unanswered), says("CALL_UNANSWERED", "no member answered"));
      const answered = b.engine.getWorkflowInstanceStatus(id);
      await clock.advance(20_000);
      b.connection.mend();
      assert.equal(taskOf(await clock.until(answered), "a").status, "Success");
    });

    test("11.3 does not tell from memory what it would have to look up: not even of an instance that rests", async (t) => {
      const { rig, clock, b, c, id, call } = await silenced(t, () => undefined, two);
      await clock.until(b.engine.pauseWorkflowInstance(id));
      call.finish(1);
      await rig.until(b, id, ({ status }) => status === "Paused");
      silence(b);
      await clock.advance(50_000);
      await clock.until(c.engine.terminateWorkflowInstance(id, "elsewhere"));
      const asked = b.engine.getWorkflowInstanceStatus(id);
      const told = assert.rejects(b.engine.resumeWorkflowInstance(id), says("INSTANCE_STATE", "Terminated"));
      await clock.advance(4000);
      b.connection.mend();
      const { status, reason } = await clock.until(asked);
      assert.deepEqual([status, reason], ["Terminated", "elsewhere"]);
      await clock.until(told);
    });

    test("11.3 an end that is waited for at the silent member is told when it is back", async (t) => {
      const { rig, clock, b, id, work } = await silenced(t, silence);
      const end = b.engine.awaitWorkflowInstance(id);
      (await clock.until(work.call("t", { instanceId: id, after: 1 }))).finish("elsewhere");
      await clock.advance(600_000);
      b.connection.mend();
      await rig.spread();
      assert.deepEqual(await clock.until(end), { t: "elsewhere" });
    });

    test("11.3 an attempt that is lost with its member counts as interrupted, and does not use up a retry", async (t) => {
      const { rig, clock, a, id, work } = await silenced(t, silence);
      const again = await clock.until(work.call("t", { instanceId: id, after: 1 }));
      assert.equal(again.ctx.attempt, 1);
      again.finish(1);
      await clock.until(a.engine.awaitWorkflowInstance(id));
      assert.equal((await rig.historyOf(id)).filter((type) => type === "TaskInterrupted").length, 1);
    });
  });
}

describe("11.3 a member that is gone without a word", () => {
  test("11.3 is taken over from: every instance goes on, completed tasks stay, running ones run again", async (t) => {
    const work = new HandJob();
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [work.job] });
    const { clock } = rig;
    const ids = Array.from({ length: 20 }, (_, place) => `i${place}`);
    for (const instanceId of ids) await clock.until(a.engine.submitWorkflow(two, { instanceId }));
    for (const instanceId of ids) (await clock.until(work.call("a", { instanceId }))).finish("first");
    for (const instanceId of ids) await clock.until(work.call("b", { instanceId }));
    const lost = await rig.idsOn(b, ids);
    assert.ok(lost.length > 0 && lost.length < ids.length);
    b.kill();
    await clock.advance(60_000);
    assert.deepEqual(
      [a.heardOf("b"), c.heardOf("b")],
      [
        ["joined", "suspected", "lost"],
        ["suspected", "lost"],
      ],
    );
    for (const id of ids) {
      const calls = work.calls.filter(({ ctx }) => ctx.instanceId === id && ctx.taskName === "b");
      assert.equal(calls.length, lost.includes(id) ? 2 : 1);
      calls.at(-1)?.finish("second");
      assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance(id)), { a: "first", b: "second" });
    }
    assert.equal(work.calls.filter(({ ctx }) => ctx.taskName === "a").length, ids.length);
  });

  test("11.3 was accepted is accepted: what its submitter had returned survives", async (t) => {
    const work = new HandJob();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job] });
    const { clock } = rig;
    const { instanceId } = await clock.until(b.engine.submitWorkflow(one, { instanceId: await rig.idOn(b) }));
    b.kill();
    await clock.advance(60_000);
    (await clock.until(work.call("t", { after: 1 }))).finish(1);
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(instanceId)), { t: 1 });
  });

  test("11.3 calls to its instances wait until somebody has taken over", async (t) => {
    const work = new HandJob();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job] });
    const { clock } = rig;
    const id = await rig.idOn(b);
    await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
    b.kill();
    await clock.advance(1000);
    const status = a.engine.getWorkflowInstanceStatus(id);
    const other = a.engine.submitWorkflow(one, { instanceId: await rig.idOn(b, "other") });
    assert.equal((await clock.until(status)).status, "Running");
    await clock.until(other);
    assert.equal(a.heardOf("b").at(-1), "lost");
  });

  test("11.3 together with all others but one: that one has everything", async (t) => {
    const work = new HandJob();
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [work.job] });
    const ids = Array.from({ length: 12 }, (_, place) => `i${place}`);
    for (const instanceId of ids) await rig.clock.until(a.engine.submitWorkflow(one, { instanceId }));
    a.kill();
    b.kill();
    await rig.spread();
    const before = work.calls.length;
    await rig.clock.settle();
    for (const call of work.calls.slice(0, before)) call.finish(call.ctx.instanceId);
    for (const id of ids) assert.deepEqual(await rig.clock.until(c.engine.awaitWorkflowInstance(id)), { t: id });
  });

  test("11.3 may have a follower under the same name, at once", async (t) => {
    const work = new HandJob();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job] });
    const { clock } = rig;
    const id = await rig.idOn(b);
    await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
    b.kill();
    const next = await rig.join("b");
    await clock.advance(60_000);
    await rig.spread();
    assert.deepEqual(
      next.view.map(({ address }) => address),
      ["a", "b"],
    );
    (await clock.until(work.call("t", { after: 1 }))).finish("again");
    assert.deepEqual(await clock.until(next.engine.awaitWorkflowInstance(id)), { t: "again" });
  });

  test("4.5 an attempt that is lost with member after member fails, and says so", async (t) => {
    const work = new HandJob();
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [work.job], maxInterruptions: 2 });
    const { clock } = rig;
    await clock.until(a.engine.submitWorkflow(one, { instanceId: "x" }));
    let last = a;
    for (let times = 0; times < 3; times++) {
      await clock.until(work.call("t", { after: times }));
      await clock.advance(1000);
      const next = await rig.join(`m${times}`);
      last.kill();
      await rig.spread();
      last = next;
    }
    await assert.rejects(
      clock.until(last.engine.awaitWorkflowInstance("x")),
      says("WORKFLOW_FAILED", '"t"', "worker lost"),
    );
    assert.equal(work.calls.length, 3);
  });
});

describe("11.3 whatever its clock says", () => {
  test("11.3 a machine that was asleep stands still until the store has confirmed its place", async (t) => {
    const { rig, clock, a, b, id, call, work } = await silenced(t, () => undefined);
    b.setWallClock(3_600_000);
    await clock.advance(lookMs);
    assert.ok(call.ctx.signal.aborted);
    assert.deepEqual(b.heardOf("b"), ["joined", "lapsed", "regained"]);
    assert.deepEqual(a.heardOf("b"), ["joined"]);
    (await clock.until(work.call("t", { instanceId: id, after: 1 }))).finish("awake");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "awake" });
    assert.ok(rig.running.includes(b));
  });

  test("11.3 a wall clock that is set back harms nobody", async (t) => {
    const { clock, a, b, id, call } = await silenced(t, () => undefined);
    b.setWallClock(-3_600_000);
    await clock.advance(120_000);
    assert.ok(!call.ctx.signal.aborted);
    assert.deepEqual([a.heardOf("b"), b.heardOf("b")], [["joined"], ["joined"]]);
    call.finish("here");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "here" });
  });

  test("11.3 one that was asleep until others had taken over writes nothing and tells nothing", async (t) => {
    const { rig, clock, a, b, c, id, call, work } = await silenced(t, (member) => member.sleep(), two);
    (await clock.until(work.call("a", { instanceId: id, after: 1 }))).finish("there");
    await clock.until(work.call("b", { instanceId: id }));
    await clock.advance(600_000);
    const asked = b.engine.getWorkflowInstanceStatus(id);
    // What it was about when it fell asleep is the first that it does when it wakes up.
    call.finish("here");
    b.wake();
    assert.equal(taskOf(await clock.until(asked), "a").status, "Success");
    await rig.spread();
    assert.deepEqual(b.heardOf("b"), ["joined", "lapsed", "gone", "joined"]);
    (await clock.until(work.call("b", { instanceId: id }))).finish("end");
    for (const { engine } of [a, b, c]) {
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance(id)), { a: "there", b: "end" });
    }
    assert.equal((await rig.historyOf(id)).filter((type) => type === "TaskSucceeded").length, 2);
  });
});

describe("11.4 partition", () => {
  test("11.4 a member that cannot reach the store can be stopped in time, and the others find out", async (t) => {
    for (const silentMs of [0, 20_000, 60_000]) {
      const { rig, clock, a, b, id, work } = await silenced(t, ({ connection }) => connection.fail());
      await clock.advance(silentMs);
      assert.ok((await rig.stop(b)) <= 5000, `after ${silentMs} ms`);
      await rig.spread();
      assert.equal(a.heardOf("b").at(-1), "lost");
      (await clock.until(work.call("t", { instanceId: id, after: 1 }))).finish("there");
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "there" });
    }
  });

  test("11.4 whoever cannot reach the store stops; when it is back all go on, and nobody was taken for lost", async (t) => {
    const { rig, clock, a, b, c, id, call, work } = await silenced(t, () => undefined);
    const before = await owners(rig);
    for (const { connection } of [a, b, c]) connection.fail();
    await clock.advance(600_000);
    assert.ok(call.ctx.signal.aborted);
    for (const member of [a, b, c]) {
      assert.equal(member.heardOf(member.name).at(-1), "lapsed");
      assert.ok(!member.events.some(({ type }) => type === "lost"));
    }
    for (const { connection } of [a, b, c]) connection.mend();
    await rig.spread();
    assert.deepEqual(await owners(rig), before);
    for (const member of [a, b, c]) {
      assert.equal(member.heardOf(member.name).at(-1), "regained");
      assert.ok(!member.events.some(({ type }) => type === "lost"));
      assert.equal(member.engine.health.status, "up");
    }
    (await clock.until(work.call("t", { instanceId: id, after: 1 }))).finish("whole");
    assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance(id)), { t: "whole" });
  });

  test("11.4 one that others reach but that does not reach the store gives way all the same", async (t) => {
    const { rig, clock, a, b, id, work } = await silenced(t, ({ connection }) => connection.fail());
    await clock.advance(60_000);
    assert.ok(!(await rig.view()).members.some(({ id }) => id === b.id));
    (await clock.until(work.call("t", { instanceId: id, after: 1 }))).finish("there");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "there" });
    await assert.rejects(clock.until(b.engine.getWorkflowInstanceStatus(id)), says("CALL_UNANSWERED"));
  });
});
