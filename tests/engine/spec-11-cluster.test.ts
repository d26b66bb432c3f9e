/** Spec §11.1 and §11.2: a cluster as its users meet it. Whoever is asked, it is the same cluster that answers. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defaultTimings } from "../../src/cluster/timings.ts";
import {
  type ClusterOptions,
  defineJob,
  TaskBuilder,
  type Workflow,
  WorkflowBuilder,
  WorkflowFailed,
  WorkflowTerminated,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore, type TestClock } from "../../src/testing.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { buses, type BusKind, EngineClusterRig, lookMs, type RigMember, shardCount } from "./engine-cluster-rig.ts";
import { newEngine, says, startEngine, statusesIn, task as taskOf, taskOf as viewOf, workflow } from "./rig.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

/** Time passes here while calls find their way, which is no reason for a task to run out of it. */
function task(name: string, job: string, params?: unknown): TaskBuilder {
  return taskOf(name, job, params).withTimeout(3600);
}

const one = workflow("one", task("t", "work"));
const two = workflow("two", task("a", "work"), task("b", "echo").withDependency("a"));

interface Three {
  readonly rig: EngineClusterRig;
  readonly clock: TestClock;
  readonly a: RigMember;
  readonly b: RigMember;
  readonly c: RigMember;
  readonly all: readonly RigMember[];
  readonly work: HandJob;
}

async function three(t: TestContext, bus: BusKind = "in-process"): Promise<Three> {
  const work = new HandJob();
  const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [work.job, echo], bus });
  return { rig, clock: rig.clock, a, b, c, all: [a, b, c], work };
}

/** Submitted at `a`, living on `b`, with its first task in the hands of the test. */
async function begun({ rig, clock, a, b, work }: Three, definition: Workflow = one) {
  const id = await rig.idOn(b);
  const run = await clock.until(a.engine.submitWorkflow(definition, { instanceId: id }));
  const call = await clock.until(work.call([...definition.tasks.values()][0]?.name ?? "", { instanceId: id }));
  return { id, run, call };
}

describe("11.1 a cluster is configuration", () => {
  test("11.1 the same code, with the same results, standing alone and in a cluster", async (t) => {
    const flow = workflow("same", task("a", "echo", { n: 1 }), task("b", "echo").withDependency("a"));
    const alone = await startEngine(t, { jobs: [echo] });
    const [rig, one] = await EngineClusterRig.start(t, 1, { jobs: [echo] });
    const expected = await (await alone.submitWorkflow(flow, { instanceId: "x" })).result();
    const run = await rig.clock.until(one.engine.submitWorkflow(flow, { instanceId: "x" }));
    assert.deepEqual(await rig.clock.until(run.result()), expected);
    const history = await alone.getWorkflowInstanceHistory("x");
    const types = history.flatMap(({ events }) => events.map(({ type }) => type));
    assert.deepEqual(await rig.historyOf("x"), types);
  });

  test("11.1 a store that belongs to one process is refused", () => {
    assert.throws(
      () => newEngine({ storage: sqlite(":memory:"), cluster: {} }),
      says("OPTION_INVALID", '"cluster"', "several members", "embedded"),
    );
  });

  test("11.1 options that make no sense are refused, each by its name", () => {
    const cases: readonly (readonly [unknown, string])[] = [
      [null, '"cluster" must be an object'],
      [{ name: "a/b" }, '"cluster.name" must be a name without a slash, got "a/b"'],
      [{ name: 5 }, '"cluster.name"'],
      [{ shards: 0 }, '"cluster.shards" must be a whole number from 1 to 8192, got 0'],
      [{ shard: 4 }, '"cluster.shard" does not exist; did you mean "shards"?'],
      [{ bus: "nats://localhost" }, '"cluster.bus" takes an address as nats("nats://…")'],
      [{ bus: "notify" }, '"cluster.bus" cannot be "notify" on this store'],
      [
        { bus: "none" },
        '"cluster.bus" must be nats(url) of heddle/nats, inProcessBus(), "notify" or "poll", got "none"',
      ],
      [{ timings: { beatMs: -1 } }, '"cluster.timings.beatMs" must be a number of milliseconds above 0, got -1'],
      [{ timings: { beatMs: 9000 } }, '"cluster.timings.beatMs" must be at most half of timings.suspectMs'],
    ];
    for (const [cluster, message] of cases) {
      const options = { storage: memoryStore(), cluster: cluster as ClusterOptions };
      assert.throws(() => newEngine(options), says("OPTION_INVALID", `engine option ${message}`));
    }
  });

  test("11.1 another number of shards than the store was made with is refused, with the right one", async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [echo] });
    const wrong = rig.add("b", { cluster: { shards: 8 } });
    await assert.rejects(
      rig.clock.until(wrong.engine.start()),
      says("OPTION_INVALID", "made with 16 shards, not 8", "set cluster.shards to 16"),
    );
    assert.equal(wrong.engine.health.status, "new");
    assert.deepEqual(
      a.view.map(({ address }) => address),
      ["a"],
    );
    await rig.join("c");
    await rig.spread();
  });

  test("11.1 an engine without a cluster is refused on the store of one, whether or not it runs", async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1);
    const alone = newEngine({ storage: rig.store.connect(), clock: rig.clock });
    const refused = says("OPTION_INVALID", "belongs to a cluster", "cluster: { shards: 16 }");
    await assert.rejects(rig.clock.until(alone.start()), refused);
    await rig.stop(a);
    await assert.rejects(rig.clock.until(alone.start()), refused);
  });

  test("11.1 a cluster is refused on the store of an engine without one", async (t) => {
    const storage = memoryStore();
    await (await startEngine(t, { storage })).stop();
    const member = newEngine({ storage, cluster: { shards: 16 } });
    await assert.rejects(
      member.start(),
      says("OPTION_INVALID", "made with 1 shard, as an engine without a cluster makes it", "use another store"),
    );
  });

  test("5.1 start and stop are refused when there is nothing to start or stop", async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1);
    await assert.rejects(a.engine.start(), says("ENGINE_STATE", "cannot be started", "already"));
    const b = rig.add("b");
    await assert.rejects(b.engine.stop(), says("ENGINE_STATE", "cannot be stopped", "not been started"));
    await assert.rejects(b.engine.submitWorkflow(one), says("ENGINE_STATE", "engine.start()"));
    await rig.stop(a);
    await assert.rejects(a.engine.stop(), says("ENGINE_STATE", "cannot be stopped", "already"));
    assert.deepEqual(a.view, [], "who has left is nobody's member");
    await assert.rejects(a.engine.start(), says("ENGINE_STATE", "cannot be started", "new Engine"));
    await assert.rejects(a.engine.getWorkflowInstanceStatus("x"), says("ENGINE_STATE", "stopped", "new Engine"));
  });

  test("5.1 a start that found the store away may be made again", async (t) => {
    const [rig] = await EngineClusterRig.start(t, 1);
    const b = rig.add("b");
    b.connection.fail();
    await assert.rejects(rig.clock.until(b.engine.start()), says("STORE_UNAVAILABLE", "does not answer"));
    b.connection.mend();
    await rig.clock.until(b.engine.start());
    await rig.spread();
  });

  test("11.1 all members name the same one as the oldest, and the next one when it is gone", async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1);
    await rig.clock.advance(1);
    const b = await rig.join("b");
    await rig.clock.advance(1);
    const c = await rig.join("c");
    const named = (): unknown[] =>
      [a, b, c]
        .filter(({ isRunning }) => isRunning)
        .map(({ view }) => view.filter(({ isOldest }) => isOldest).map(({ address }) => address));
    for (let beats = 0; beats < 8; beats++) {
      await rig.clock.advance(3000);
      assert.deepEqual(named(), [["a"], ["a"], ["a"]]);
    }
    await rig.stop(a);
    await rig.clock.advance(10_000);
    assert.deepEqual(named(), [["b"], ["b"]]);
  });

  test("11.1 who is there can be asked, and heard of; an engine without a cluster has nobody", async (t) => {
    const alone = await startEngine(t);
    assert.deepEqual(alone.members(), []);
    alone.onMemberEvent(() => assert.fail("nothing happens"))();
    const [rig, a] = await EngineClusterRig.start(t, 1);
    for (const engine of [alone, a.engine]) {
      assert.throws(
        () => engine.onMemberEvent(5 as never),
        says("OPTION_INVALID", "onMemberEvent takes a function to call, got 5"),
      );
    }
    const heard: string[] = [];
    const stop = a.engine.onMemberEvent(({ type }) => void heard.push(type));
    a.engine.onMemberEvent(() => {
      throw new Error("a bad listener harms nobody");
    });
    await rig.join("b");
    await rig.spread();
    assert.equal(heard[0], "joined");
    assert.ok(a.log.find("warn", /a listener to member events threw/));
    stop();
    const count = heard.length;
    await rig.join("c");
    await rig.spread();
    assert.equal(heard.length, count);
  });
});

describe("11.2 when nobody is there to answer", () => {
  for (const how of ["fail", "hang"] as const) {
    test(`11.2 a call is given up after a while, and its error says so: the store's calls ${how}`, async (t) => {
      const { job } = new HandJob();
      const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [job], cluster: { timings: { callMs: 90_000 } } });
      const { clock } = rig;
      await clock.until(a.engine.submitWorkflow(one, { instanceId: "x" }));
      a.connection[how]();
      const since = clock.now();
      await assert.rejects(
        clock.until(a.engine.getWorkflowInstanceStatus("x")),
        says("CALL_UNANSWERED", "no member answered", "90 s"),
      );
      assert.equal(clock.now() - since, 90_000);
      a.connection.mend();
      assert.equal((await clock.until(a.engine.getWorkflowInstanceStatus("x"))).status, "Running");
    });
  }

  test("11.2 a call may be told to wait for less", async (t) => {
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [echo], cluster: { timings: { callMs: 5000 } } });
    const id = await rig.idOn(b);
    b.kill();
    const since = rig.clock.now();
    await assert.rejects(rig.clock.until(a.engine.getWorkflowInstanceStatus(id)), says("CALL_UNANSWERED", "5 s"));
    assert.equal(rig.clock.now() - since, 5000);
  });

  test("11.2 a start under an id of one's own can be repeated: it is carried out once", async (t) => {
    const work = new HandJob();
    const timings = { callMs: 5000 };
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job], cluster: { timings } });
    const id = await rig.idOn(b);
    // It is carried out, but the answer does not come in time.
    b.connection.hang();
    await assert.rejects(rig.clock.until(a.engine.submitWorkflow(one, { instanceId: id })), says("CALL_UNANSWERED"));
    b.connection.mend();
    await rig.clock.advance(lookMs);
    await assert.rejects(
      rig.clock.until(a.engine.submitWorkflow(one, { instanceId: id })),
      says("INSTANCE_EXISTS", id),
    );
    assert.equal(work.calls.length, 1);
  });

  for (const isCallerGone of [true, false]) {
    const what = isCallerGone ? "dropped with its member" : "carried out for a member that waits";
    test(`11.2 a start that nobody has read when the shard's owner dies is ${what}`, async (t) => {
      const work = new HandJob();
      const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job], bus: "none" });
      const id = await rig.idOn(b);
      b.kill();
      const start = a.engine.submitWorkflow(one, { instanceId: id }).catch(() => undefined);
      await rig.clock.advance(lookMs);
      if (isCallerGone) a.kill();
      else await rig.clock.until(start);
      const last = isCallerGone ? await rig.join("c") : a;
      await rig.clock.advance(120_000);
      const known = await rig.clock.until(last.engine.listWorkflowInstances());
      assert.deepEqual(
        known.map((instance) => instance.id),
        isCallerGone ? [] : [id],
      );
      await rig.clock.until(last.engine.submitWorkflow(one, { instanceId: id }).catch(() => undefined));
      assert.equal(work.calls.length, 1);
    });
  }
});

for (const [bus, how] of buses) {
  describe(`11.2 any member accepts any call, ${how}`, () => {
    test("11.2 submit anywhere, and ask anywhere: wherever the instance lives", async (t) => {
      const { rig, clock, all, work } = await three(t, bus);
      for (const owner of all) {
        for (const [place, asked] of all.entries()) {
          const id = await rig.idOn(owner, `at-${asked.name}`);
          const run = await clock.until(asked.engine.submitWorkflow(one, { instanceId: id }));
          assert.equal(run.instanceId, id);
          assert.equal(await rig.ownerOf(id), owner);
          (await clock.until(work.call("t", { instanceId: id }))).finish(`${owner.name}${place}`);
          for (const { engine } of all) {
            assert.deepEqual(await clock.until(engine.awaitWorkflowInstance(id)), { t: `${owner.name}${place}` });
            assert.equal((await clock.until(engine.getWorkflowInstanceStatus(id))).status, "Success");
          }
        }
      }
    });

    test("11.2 instances without an id of their own are spread over the members, and found by all", async (t) => {
      const { rig, clock, all, a } = await three(t, bus);
      const runs = await clock.until(
        Promise.all(Array.from({ length: 24 }, () => a.engine.submitWorkflow(workflow("free", task("t", "echo"))))),
      );
      const owners = new Set<RigMember | undefined>();
      for (const { instanceId } of runs) owners.add(await rig.ownerOf(instanceId));
      assert.deepEqual(owners, new Set(all));
      for (const { engine } of all) {
        const results = runs.map(({ instanceId }) => engine.awaitWorkflowInstance(instanceId));
        for (const result of await clock.until(Promise.all(results))) assert.deepEqual(result, { t: "done" });
      }
    });

    test("11.2 an id that is taken is refused by every member, and may be reused through every member", async (t) => {
      const trio = await three(t, bus);
      const { clock, all } = trio;
      const { id, call } = await begun(trio);
      for (const { engine } of all) {
        for (const reuse of [false, true]) {
          await assert.rejects(
            clock.until(engine.submitWorkflow(one, { instanceId: id, reuse })),
            says("INSTANCE_EXISTS", `"${id}"`, "active", "Running"),
          );
        }
      }
      call.finish(1);
      for (const [place, { engine }] of all.entries()) {
        await clock.until(engine.awaitWorkflowInstance(id));
        await assert.rejects(
          clock.until(engine.submitWorkflow(one, { instanceId: id })),
          says("INSTANCE_EXISTS", `"${id}"`, "Success", "reuse: true"),
        );
        await clock.until(engine.submitWorkflow(one, { instanceId: id, reuse: true }));
        (await clock.until(trio.work.call("t", { instanceId: id, after: place + 1 }))).finish(place);
        assert.deepEqual(await clock.until(engine.awaitWorkflowInstance(id)), { t: place });
      }
    });

    test("11.2 of many starts of one id at the same time, at all members, one succeeds", async (t) => {
      const trio = await three(t, bus);
      const { clock, all, work } = trio;
      const starts = [...all, ...all].map(({ engine }) => engine.submitWorkflow(one, { instanceId: "same" }));
      const outcomes = await clock.until(Promise.allSettled(starts));
      const refusals = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
      assert.equal(refusals.length, starts.length - 1);
      for (const refusal of refusals) says("INSTANCE_EXISTS", '"same"')(refusal);
      await clock.advance(lookMs);
      assert.deepEqual(work.started, ["t"]);
    });

    test("11.2 pause at one member, resume at another", async (t) => {
      const trio = await three(t, bus);
      const { rig, clock, a, b, c } = trio;
      const { id, call } = await begun(trio, two);
      await clock.until(c.engine.pauseWorkflowInstance(id));
      const pausing = await clock.until(a.engine.getWorkflowInstanceStatus(id));
      assert.deepEqual([pausing.status, pausing.pausing], ["Running", true]);
      call.finish(1);
      for (const member of [a, b, c]) await rig.until(member, id, ({ status }) => status === "Paused");
      await assert.rejects(
        clock.until(c.engine.pauseWorkflowInstance(id)),
        says("INSTANCE_STATE", "cannot pause", `"${id}"`, "Paused"),
      );
      await clock.until(a.engine.resumeWorkflowInstance(id));
      assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance(id)), { a: 1, b: "done" });
    });

    test("11.2 terminate at one member: the job is told to stop, and every member knows the reason", async (t) => {
      const trio = await three(t, bus);
      const { clock, all, a, c } = trio;
      const { id, run, call } = await begun(trio, two);
      const results = [run.result(), ...all.map(({ engine }) => engine.awaitWorkflowInstance(id))];
      const refusals = results.map((result) =>
        assert.rejects(result, (error) => {
          assert.ok(error instanceof WorkflowTerminated);
          return says("WORKFLOW_TERMINATED", id, "no longer needed")(error);
        }),
      );
      await clock.until(c.engine.terminateWorkflowInstance(id, "no longer needed"));
      assert.ok(call.ctx.signal.aborted);
      await clock.until(Promise.all(refusals));
      const view = await clock.until(a.engine.getWorkflowInstanceStatus(id));
      assert.deepEqual(
        [view.status, view.reason, statusesIn(view)],
        ["Terminated", "no longer needed", { a: "Stopped", b: "Canceled (instance-ended)" }],
      );
      await assert.rejects(
        clock.until(c.engine.terminateWorkflowInstance(id)),
        says("INSTANCE_STATE", "cannot terminate", "Terminated"),
      );
    });

    test("11.2 retry, rerun with other parameters, succeed and skip from members that do not own it", async (t) => {
      const trio = await three(t, bus);
      const { clock, a, c, work } = trio;
      const { id, call } = await begun(trio, two);
      call.fail(new Error("no luck"));
      await assert.rejects(clock.until(c.engine.awaitWorkflowInstance(id)), (error) => {
        assert.ok(error instanceof WorkflowFailed);
        assert.equal(error.failedTasks[0]?.failure?.message, "no luck");
        return says("WORKFLOW_FAILED", id, '"a"', "no luck")(error);
      });
      await clock.until(c.engine.retryWorkflowInstance(id));
      (await clock.until(work.call("a", { after: 1 }))).fail(new Error("again"));
      await assert.rejects(clock.until(a.engine.awaitWorkflowInstance(id)), says("WORKFLOW_FAILED", "again"));
      await clock.until(c.engine.succeedTask(id, "a", { by: "hand" }));
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { a: { by: "hand" }, b: "done" });
      await clock.until(c.engine.rerunWorkflowInstance(id, "a", { params: { n: 2 } }));
      const rerun = await clock.until(work.call("a", { after: 2 }));
      assert.deepEqual(rerun.params, { n: 2 });
      rerun.fail(new Error("never"));
      await assert.rejects(clock.until(c.engine.awaitWorkflowInstance(id)), says("WORKFLOW_FAILED", "never"));
      await clock.until(c.engine.skipTask(id, "a"));
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { b: "done" });
      await assert.rejects(
        clock.until(c.engine.skipTask(id, "aa")),
        says("TASK_UNKNOWN", `"${id}"`, '"aa"', 'did you mean "a"'),
      );
    });

    test("11.2 context, parameters and sub-tasks are changed from members that do not own it", async (t) => {
      const trio = await three(t, bus);
      const { clock, a, b, c } = trio;
      const { id, call } = await begun(trio, two);
      await clock.until(c.engine.updateContext(id, { kept: 1, dropped: 2 }));
      await clock.until(a.engine.updateContext(id, { dropped: null, added: [3] }));
      await clock.until(c.engine.updateTaskParams(id, "b", { from: "c" }));
      await assert.rejects(
        clock.until(c.engine.updateTaskParams(id, "a", { from: "c" })),
        says("TASK_STATE", '"a"', "Running"),
      );
      await clock.until(c.engine.addSubTask(id, task("a1", "echo", "sub").build(), "a"));
      await assert.rejects(
        clock.until(c.engine.addSubTask(id, task("a1", "echo").build(), "a")),
        says("SUBTASK_INVALID", '"a1"'),
      );
      for (const { engine } of [a, b, c]) {
        const breakpoint = await clock.until(engine.getWorkflowInstanceBreakpoint(id));
        assert.deepEqual(breakpoint.context, { kept: 1, added: [3] });
        assert.deepEqual([breakpoint.completedTasks, breakpoint.runningTasks], [[], ["a"]]);
        assert.deepEqual(
          breakpoint.dag.edges.map(({ from, to }) => `${from} ${to}`),
          ["a b", "a a1"],
        );
      }
      call.finish(1);
      assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance(id)), { a: 1, a1: "sub", b: { from: "c" } });
    });

    test("11.2 history, list and purge are the same at every member", async (t) => {
      const trio = await three(t, bus);
      const { rig, clock, all, c } = trio;
      const { id, call } = await begun(trio, two);
      await assert.rejects(
        clock.until(c.engine.purgeWorkflowInstances({ instanceId: id })),
        says("INSTANCE_STATE", "cannot purge", `"${id}"`, "Running", "terminate it first"),
      );
      call.finish(1);
      const histories = [];
      for (const { engine } of all) {
        await clock.until(engine.awaitWorkflowInstance(id));
        histories.push(await clock.until(engine.getWorkflowInstanceHistory(id)));
        assert.deepEqual(
          (await engine.listWorkflowInstances({ workflow: "two" })).map(({ id, status }) => [id, status]),
          [[id, "Success"]],
        );
      }
      assert.deepEqual(histories[1], histories[0]);
      assert.deepEqual(histories[2], histories[0]);
      assert.equal(await clock.until(c.engine.purgeWorkflowInstances({ instanceId: id })), 1);
      for (const { engine } of all) {
        await assert.rejects(clock.until(engine.getWorkflowInstanceStatus(id)), says("INSTANCE_UNKNOWN", `"${id}"`));
      }
      assert.deepEqual(await rig.rows(), []);
    });

    test("11.2 purge by status takes what ended with every member", async (t) => {
      const { clock, a, c } = await three(t, bus);
      const runs = Array.from({ length: 12 }, (_, place) =>
        a.engine.submitWorkflow(workflow("brief", task("t", "echo")), { instanceId: `p${place}` }),
      );
      for (const run of await clock.until(Promise.all(runs))) await clock.until(run.result());
      const purged = c.engine.purgeWorkflowInstances({ status: "Success", endedBefore: clock.now() + 1 });
      assert.equal(await clock.until(purged), 12);
      assert.deepEqual(await a.engine.listWorkflowInstances(), []);
    });

    test("11.2 an instance that nobody knows is unknown to every member", async (t) => {
      const { clock, all } = await three(t, bus);
      const unknown = says("INSTANCE_UNKNOWN", '"nobody"');
      for (const { engine } of all) {
        await assert.rejects(clock.until(engine.getWorkflowInstanceStatus("nobody")), unknown);
        await assert.rejects(clock.until(engine.awaitWorkflowInstance("nobody")), unknown);
        await assert.rejects(clock.until(engine.pauseWorkflowInstance("nobody")), unknown);
        await assert.rejects(clock.until(engine.purgeWorkflowInstances({ instanceId: "nobody" })), unknown);
      }
    });

    test("11.2 a controller can be had from any member", async (t) => {
      const trio = await three(t, bus);
      const { rig, clock, c } = trio;
      const { id, call } = await begun(trio, two);
      const run = await clock.until(c.engine.getWorkflowController(id));
      assert.deepEqual([run.instanceId, run.workflow.name], [id, "two"]);
      assert.deepEqual(
        [...run.workflow.tasks.values()].map(({ name }) => name),
        ["a", "b"],
      );
      await clock.until(run.pause());
      call.finish(1);
      await rig.until(c, id, ({ status }) => status === "Paused");
      await clock.until(run.resume());
      assert.deepEqual(await clock.until(run.result()), { a: 1, b: "done" });
    });

    test("11.2 orders of one caller are carried out one after the other, each once", async (t) => {
      const trio = await three(t, bus);
      const { rig, clock, c } = trio;
      const { id } = await begun(trio);
      for (let n = 1; n <= 5; n++) await clock.until(c.engine.updateContext(id, { n }));
      assert.equal((await clock.until(c.engine.getWorkflowInstanceBreakpoint(id))).context["n"], 5);
      await clock.advance(120_000);
      const updates = (await rig.historyOf(id)).filter((type) => type === "ContextPatched");
      assert.equal(updates.length, 5);
    });

    test("11.2 values above what a bus carries arrive whole", async (t) => {
      const { rig, clock, a, b, c } = await three(t, bus);
      const large = "é".repeat(300_000);
      const id = await rig.idOn(b);
      const echoing = workflow("large", task("t", "echo", { large }), task("u", "echo").withDependency("t"));
      await clock.until(a.engine.submitWorkflow(echoing, { instanceId: id, params: { large } }));
      for (const { engine } of [a, b, c]) {
        const outputs = await clock.until(engine.awaitWorkflowInstance(id));
        assert.deepEqual(outputs, { t: { large }, u: "done" });
      }
      await clock.until(c.engine.rerunWorkflowInstance(id, "t", { params: { large: `${large}!` } }));
      assert.deepEqual((await clock.until(a.engine.awaitWorkflowInstance(id)))["t"], { large: `${large}!` });
      await clock.until(c.engine.rerunWorkflowInstance(id, "u"));
      const breakpoint = await clock.until(a.engine.getWorkflowInstanceBreakpoint(id));
      assert.deepEqual(breakpoint.context, { large });
      for (const { log } of [a, b, c]) assert.equal(log.find("debug", /the bus refused/), undefined);
    });
  });

  describe(`11.2 a call whose answer is lost with the owner, ${how}`, () => {
    test("11.2 is recognised by the next owner, and carried out once", async (t) => {
      const trio = await three(t, bus);
      const { rig, clock, a, b } = trio;
      const { id } = await begun(trio);
      const others = await Promise.all(["given", "other"].map((prefix) => rig.idOn(b, prefix)));
      // What it writes is written, and it never hears of it; so it does not beat either.
      b.connection.spares = (method) => method !== "commit" && method !== "heartbeat";
      b.connection.mute();
      const patched = a.engine.updateContext(id, { n: 1 });
      const started = others.map((instanceId) => a.engine.submitWorkflow(one, { instanceId }));
      await clock.until(Promise.all([patched, ...started]));
      assert.deepEqual(a.heardOf("b").at(-1), "lost");
      b.kill();
      await clock.advance(120_000);
      assert.equal((await rig.historyOf(id)).filter((type) => type === "ContextPatched").length, 1);
      for (const other of others) {
        assert.equal((await rig.historyOf(other)).filter((type) => type === "InstanceCreated").length, 1);
      }
    });
  });

  describe(`11.2 nested workflows, ${how}`, () => {
    const inner = workflow("inner", task("a", "work"));
    const children = Array.from({ length: 9 }, (_, place) => `n${place}`);
    const family = new WorkflowBuilder().withName("family").withMaxConcurrentTasks(children.length);
    for (const name of children) family.withTask(new TaskBuilder(name).withNestedWorkflow(inner).build());

    test("11.2 children live with several members, and their parent hears of them", async (t) => {
      const { rig, clock, all, b, c, work } = await three(t, bus);
      const run = await clock.until(c.engine.submitWorkflow(family.build(), { instanceId: "x", params: { given: 1 } }));
      const owners = new Set<RigMember | undefined>();
      for (const name of children) {
        const id = `x/${name}`;
        owners.add(await rig.ownerOf(id));
        const call = await clock.until(work.call("a", { instanceId: id }));
        assert.deepEqual(call.context, { given: 1 });
        call.ctx.patchContext({ [name]: name });
        call.finish(name);
      }
      assert.deepEqual(owners, new Set(all));
      const outputs = Object.fromEntries(children.map((name) => [name, { a: name }]));
      assert.deepEqual(await clock.until(run.result()), outputs);
      const { context } = await clock.until(b.engine.getWorkflowInstanceBreakpoint("x"));
      assert.deepEqual(context, { given: 1, ...Object.fromEntries(children.map((name) => [name, name])) });
      assert.equal(work.calls.length, children.length);
    });

    test("11.2 pause and terminate reach children wherever they are", async (t) => {
      const { rig, clock, a, b, c, work } = await three(t, bus);
      await clock.until(a.engine.submitWorkflow(family.build(), { instanceId: "x" }));
      const calls = [];
      for (const name of children) calls.push(await clock.until(work.call("a", { instanceId: `x/${name}` })));
      await clock.until(b.engine.pauseWorkflowInstance("x"));
      for (const name of children) await rig.until(c, `x/${name}`, ({ pausing }) => pausing);
      await clock.until(c.engine.resumeWorkflowInstance("x"));
      for (const name of children) await rig.until(c, `x/${name}`, ({ pausing }) => !pausing);
      await clock.until(b.engine.terminateWorkflowInstance("x", "enough"));
      for (const name of children) await rig.until(a, `x/${name}`, ({ status }) => status === "Terminated");
      assert.ok(calls.every(({ ctx }) => ctx.signal.aborted));
    });

    test("11.2 children of children, and a failure on its way up", async (t) => {
      const { clock, a, c, work } = await three(t, bus);
      const middle = workflow(
        "middle",
        new TaskBuilder("m").withNestedWorkflow(inner),
        task("after", "echo").withDependency("m"),
      );
      const outer = workflow("outer", new TaskBuilder("o").withNestedWorkflow(middle));
      const run = await clock.until(a.engine.submitWorkflow(outer, { instanceId: "x" }));
      (await clock.until(work.call("a", { instanceId: "x/o/m" }))).fail(new Error("deep down"));
      await assert.rejects(clock.until(run.result()), says("WORKFLOW_FAILED", '"o"', "deep down"));
      await clock.until(c.engine.retryWorkflowInstance("x"));
      (await clock.until(work.call("a", { instanceId: "x/o/m", after: 1 }))).finish("up");
      assert.deepEqual(await clock.until(run.result()), { o: { m: { a: "up" }, after: "done" } });
    });
  });
}

describe("11.2 joins and leaves rebalance", () => {
  test("11.2 a member that joins gets its part of the shards, and everybody hears of it", async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1);
    assert.deepEqual(a.heardOf("a"), ["joined"]);
    assert.equal(a.shards, shardCount);
    const b = await rig.join("b");
    await rig.spread();
    assert.deepEqual([a.heardOf("b"), b.heardOf("a"), b.heardOf("b")], [["joined"], [], ["joined"]]);
    assert.ok(a.shards > 0 && b.shards > 0);
    assert.equal(a.shards + b.shards, shardCount);
    assert.deepEqual(
      b.shardEvents(),
      Array.from({ length: b.shards }, () => "shard-opened"),
    );
    assert.equal(a.shardEvents().filter((type) => type === "shard-released").length, b.shards);
  });

  test("11.2 everybody sees the same members, each with its shards", async (t) => {
    const { all, a } = await three(t);
    for (const { view, id } of all) {
      assert.deepEqual(
        view.map(({ address, isSuspected }) => [address, isSuspected]),
        [
          ["a", false],
          ["b", false],
          ["c", false],
        ],
      );
      assert.deepEqual(
        view.filter(({ isSelf }) => isSelf).map((each) => each.id),
        [id],
      );
      assert.deepEqual(
        view.map(({ shards }) => shards),
        all.map(({ shards }) => shards),
      );
    }
    assert.match(a.id, /^a:/, "an id begins with the member's name");
  });

  test("11.2 everybody sees the roles of each member, and which one is draining", async (t) => {
    const [rig, a, b] = await EngineClusterRig.start(t, 2, {});
    const c = await rig.join("c", { runsJobs: false });
    await rig.clock.until(b.engine.drain());
    await rig.clock.advance(5000);
    for (const { view } of [a, b, c]) {
      assert.deepEqual(
        view.map(({ address, roles, isDraining }) => [address, roles.join(), isDraining]),
        [
          ["a", "server,worker", false],
          ["b", "server,worker", true],
          ["c", "server", false],
        ],
      );
    }
  });

  test("11.2 the default of 128 shards is spread over a few members, to each its part", async (t) => {
    const [rig] = await EngineClusterRig.start(t, 4, { cluster: { shards: 128 } });
    for (const { shards } of rig.running) assert.ok(shards >= 16 && shards <= 48, `${shards} of 128`);
  });

  test("11.2 one that joins and one that leaves move no shard between the others", async (t) => {
    const { rig, a, b, c } = await three(t);
    const owners = async (): Promise<Map<number, string>> =>
      new Map((await rig.view()).shards.map(({ shard, owner }) => [shard, owner]));
    const before = await owners();
    const d = await rig.join("d");
    await rig.spread();
    for (const [shard, owner] of await owners()) if (owner !== d.id) assert.equal(owner, before.get(shard));
    await rig.stop(d);
    await rig.spread();
    assert.deepEqual(await owners(), before);
    assert.deepEqual(
      [a, b, c].map((member) => member.heardOf("d")),
      [
        ["joined", "left"],
        ["joined", "left"],
        ["joined", "left"],
      ],
    );
  });

  test("11.2 instances go on while members come and go, and no task runs twice", async (t) => {
    const runs: string[] = [];
    const clock = { after: (_: number, done: () => void): void => done() };
    const step = defineJob("step", async (_: unknown, ctx) => {
      runs.push(`${ctx.instanceId} ${ctx.taskName}`);
      await new Promise<void>((resolve) => clock.after(4000, resolve));
      return ctx.taskName;
    });
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [step] });
    clock.after = (ms, done) => void rig.clock.after(ms, done);
    const names = ["s0", "s1", "s2", "s3", "s4", "s5"];
    const tasks = names.map((name, place) => {
      const each = task(name, "step");
      return place === 0 ? each : each.withDependency(`s${place - 1}`);
    });
    const ids = Array.from({ length: 10 }, (_, place) => `i${place}`);
    for (const instanceId of ids)
      await rig.clock.until(a.engine.submitWorkflow(workflow("steps", ...tasks), { instanceId }));
    const c = await rig.join("c");
    await rig.clock.advance(6000);
    const d = await rig.join("d");
    await rig.clock.advance(6000);
    const outputs = Object.fromEntries(names.map((name) => [name, name]));
    for (const id of ids) assert.deepEqual(await rig.clock.until(d.engine.awaitWorkflowInstance(id)), outputs);
    assert.equal(runs.length, ids.length * names.length);
    assert.equal(new Set(runs).size, runs.length);
    assert.ok(b.shards > 0 && c.shards > 0);
  });

  test("11.2 a retry that is waited for when its shard moves comes when it is due", async (t) => {
    const work = new HandJob();
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [work.job] });
    const { clock } = rig;
    const patient = new TaskBuilder("t")
      .withJobFunction("work")
      .withRetryCount(1)
      .withRetryPolicy({ initialMs: 60_000 });
    const ids = Array.from({ length: shardCount }, (_, place) => `i${place}`);
    for (const instanceId of ids) {
      await clock.until(a.engine.submitWorkflow(workflow("patient", patient), { instanceId }));
      (await clock.until(work.call("t", { instanceId }))).fail(new Error("later"));
    }
    await clock.settle();
    const dueAt = clock.now() + 60_000;
    const b = await rig.join("b");
    await rig.spread();
    const moved = await rig.idsOn(b, ids);
    assert.ok(moved.length > 0);
    await clock.advance(dueAt - 1 - clock.now());
    assert.equal(work.calls.length, ids.length);
    await clock.advance(1);
    assert.equal(work.calls.length, 2 * ids.length);
    for (const id of moved)
      assert.equal(viewOf(await clock.until(a.engine.getWorkflowInstanceStatus(id)), "t").worker, b.id);
  });
});

for (const [bus, how] of buses) {
  describe(`11.2 an attempt that runs while its shard moves, ${how}`, () => {
    /** An attempt that a member runs for an instance that has moved to another. */
    async function moved(t: TestContext, definition: Workflow = one) {
      const work = new HandJob();
      const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [work.job, echo], bus });
      const { clock } = rig;
      const ids = Array.from({ length: shardCount }, (_, place) => `i${place}`);
      for (const instanceId of ids) await clock.until(a.engine.submitWorkflow(definition, { instanceId }));
      const b = await rig.join("b");
      await rig.spread();
      const [id] = await rig.idsOn(b, ids);
      assert.ok(id !== undefined);
      const [name = ""] = [...definition.tasks.values()].map((each) => each.name);
      return { rig, clock, a, b, id, work, call: await clock.until(work.call(name, { instanceId: id })) };
    }

    test("11.2 goes on where it is, is not run again, and its result counts", async (t) => {
      const { rig, clock, a, b, id, work, call } = await moved(t, two);
      await clock.advance(300_000);
      assert.ok(!call.ctx.signal.aborted);
      assert.equal(viewOf(await clock.until(b.engine.getWorkflowInstanceStatus(id)), "a").worker, a.id);
      call.finish("once");
      assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { a: "once", b: "done" });
      assert.equal(work.calls.filter(({ ctx }) => ctx.instanceId === id).length, 1);
      assert.ok(!(await rig.historyOf(id)).includes("TaskInterrupted"));
    });

    test("11.2 may fail, and is then retried by its new owner", async (t) => {
      const retried = workflow("retried", task("t", "work").withRetryCount(1));
      const { clock, b, id, work, call } = await moved(t, retried);
      call.fail(new Error("once"));
      const again = await clock.until(work.call("t", { instanceId: id, after: 1 }));
      assert.equal(again.ctx.attempt, 2);
      again.finish(2);
      assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: 2 });
      assert.equal(viewOf(await clock.until(b.engine.getWorkflowInstanceStatus(id)), "t").worker, b.id);
    });

    test("11.2 keeps the timeout that it started with", async (t) => {
      const brief = workflow("brief", new TaskBuilder("t").withJobFunction("work").withTimeout(60));
      const { rig, clock, b, id, call } = await moved(t, brief);
      await clock.advance(60_000);
      assert.ok(call.ctx.signal.aborted);
      const view = await rig.until(b, id, ({ status }) => status === "Failed");
      assert.deepEqual(statusesIn(view), { t: "TimeoutFailed" });
    });

    test("11.2 is told to stop when its instance is terminated at its new owner", async (t) => {
      const { clock, b, id, call } = await moved(t);
      await clock.until(b.engine.terminateWorkflowInstance(id));
      // Over a bus at once, otherwise the next time that its holder asks whether it is still wanted.
      await clock.advance(bus === "in-process" ? 0 : 2 * defaultTimings.workerBeatMs);
      assert.ok(call.ctx.signal.aborted);
    });

    test("11.2 runs again elsewhere when the member that holds it stops, and that is no interruption", async (t) => {
      const { rig, clock, a, b, id, work, call } = await moved(t);
      await rig.stop(a);
      assert.ok(call.ctx.signal.aborted);
      const again = await clock.until(work.call("t", { instanceId: id, after: 1 }));
      assert.equal(again.ctx.attemptId, call.ctx.attemptId);
      again.finish("again");
      assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: "again" });
      assert.ok(!(await rig.historyOf(id)).includes("TaskInterrupted"));
    });
  });
}

describe("11.3 stop()", () => {
  test("11.3 hands over within 5 seconds, although a job ignores its signal", async (t) => {
    const stubborn = defineJob("stubborn", () => new Promise<never>(() => undefined));
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [stubborn] });
    const id = await rig.idOn(b);
    await rig.clock.until(a.engine.submitWorkflow(workflow("w", task("t", "stubborn")), { instanceId: id }));
    assert.ok((await rig.stop(b)) <= 5000);
    await rig.clock.advance(lookMs);
    assert.deepEqual([a.shards, a.heardOf("b")], [shardCount, ["joined", "left"]]);
    assert.deepEqual(
      (await rig.view()).members.map(({ id }) => id),
      [a.id],
    );
  });

  test("11.3 gives running attempts back without counting an interruption", async (t) => {
    const trio = await three(t);
    const { rig, clock, a, b, work } = trio;
    const { id, call } = await begun(trio, two);
    await rig.stop(b);
    assert.ok(call.ctx.signal.aborted);
    const again = await clock.until(work.call("a", { instanceId: id, after: 1 }));
    assert.deepEqual([again.ctx.attempt, again.ctx.attemptId], [1, call.ctx.attemptId]);
    again.finish("again");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { a: "again", b: "done" });
    assert.ok(!(await rig.historyOf(id)).includes("TaskInterrupted"));
  });

  test("11.3 may happen as often as it likes: a task is never failed by it", async (t) => {
    const work = new HandJob();
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [work.job], maxInterruptions: 0 });
    await rig.clock.until(a.engine.submitWorkflow(one, { instanceId: "x" }));
    let last = a;
    for (let times = 0; times < 6; times++) {
      await rig.clock.until(work.call("t", { after: times }));
      const next = await rig.join(`m${times}`);
      await rig.stop(last);
      last = next;
    }
    (await rig.clock.until(work.call("t", { after: 6 }))).finish("at last");
    assert.deepEqual(await rig.clock.until(last.engine.awaitWorkflowInstance("x")), { t: "at last" });
  });

  test("11.3 who waits at the member that stops hears of it; who waits at another does not", async (t) => {
    const trio = await three(t);
    const { rig, clock, b, c, work } = trio;
    const { id } = await begun(trio);
    const here = assert.rejects(b.engine.awaitWorkflowInstance(id), says("ENGINE_STATE", "stopped"));
    const there = c.engine.awaitWorkflowInstance(id);
    await rig.stop(b);
    await here;
    (await clock.until(work.call("t", { after: 1 }))).finish("still");
    assert.deepEqual(await clock.until(there), { t: "still" });
  });

  test("11.3 of the last member leaves everything to the next one", async (t) => {
    const work = new HandJob();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job] });
    const ids = Array.from({ length: 8 }, (_, place) => `i${place}`);
    for (const instanceId of ids) await rig.clock.until(a.engine.submitWorkflow(one, { instanceId }));
    await rig.stop(a);
    await rig.stop(b);
    assert.deepEqual((await rig.view()).members, []);
    await rig.clock.advance(3_600_000);
    const before = work.calls.length;
    const c = await rig.join("c");
    await rig.spread();
    for (const call of work.calls.slice(before)) call.finish(call.ctx.instanceId);
    for (const id of ids) {
      assert.deepEqual(await rig.clock.until(c.engine.awaitWorkflowInstance(id)), { t: id });
      assert.ok(!(await rig.historyOf(id)).includes("TaskInterrupted"));
    }
    assert.equal(work.calls.length, before + ids.length);
  });
});
