/** Spec §11.5, and §3.10 in a cluster: limits that hold over all members together. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { OverflowPolicy, Workflow } from "../../src/index.ts";
import { TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { Meter } from "./cluster-meter.ts";
import { buses, EngineClusterRig, type EngineClusterOptions, lookMs, type RigMember } from "./engine-cluster-rig.ts";
import { says, task, taskOf, workflow } from "./rig.ts";

const taskMs = 90_000;

/** Longer than it takes until every member has heard what its part is: a report and its answer, by the slowest way. */
const reportMs = 30_000;

/** Enough that every member has some. */
const ids = Array.from({ length: 18 }, (_, place) => `i${place}`);

interface Metered {
  readonly rig: EngineClusterRig;
  readonly meter: Meter;
  readonly a: RigMember;
  readonly b: RigMember;
  readonly c: RigMember;
}

/** Three members that share a domain of `size`. */
async function metered(t: TestContext, size: number, options: EngineClusterOptions = {}): Promise<Metered> {
  const box: { rig?: EngineClusterRig } = {};
  const meter = new Meter({ clock: () => box.rig?.clock ?? assert.fail("no rig yet"), ms: taskMs });
  const jobsOf = (member: string) => [meter.job(member)];
  const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobsOf, domains: { narrow: { size } }, ...options });
  box.rig = rig;
  return { rig, meter, a, b, c };
}

const narrow = workflow("narrow", task("t", "measured").withDomain("narrow").withTimeout(3600));

async function submitAll({ rig, a, b, c }: Metered, instances: readonly string[] = ids): Promise<void> {
  const submitted = instances.map((instanceId, place) =>
    ([a, b, c][place % 3] ?? a).engine.submitWorkflow(narrow, { instanceId }),
  );
  await rig.clock.until(Promise.all(submitted));
}

async function resized({ engine }: RigMember, size: number): Promise<void> {
  await engine.executor.setDomainPoolSize("narrow", size);
}

async function allEnd(rig: EngineClusterRig, instances: readonly string[] = ids): Promise<void> {
  const [member] = rig.running;
  assert.ok(member);
  for (const id of instances) await rig.clock.until(member.engine.awaitWorkflowInstance(id));
}

for (const [bus, how] of buses) {
  describe(`11.5 the limit of a domain, ${how}`, () => {
    test("11.5 holds over all members together, and is used", async (t) => {
      const all = await metered(t, 5, { bus });
      await submitAll(all);
      await allEnd(all.rig);
      assert.equal(all.meter.most, 5);
      assert.equal(all.meter.ended.length, ids.length);
      assert.equal(new Set(all.meter.ended.map(({ member }) => member)).size, 3);
    });

    test("11.5 is set by any member, for all: more at once, less as soon as what runs has ended", async (t) => {
      const all = await metered(t, 3, { bus });
      const { rig, meter, a, b, c } = all;
      await submitAll(all);
      await rig.clock.advance(reportMs);
      assert.equal(meter.most, 3);
      await rig.clock.until(resized(c, 8));
      await rig.clock.advance(reportMs);
      assert.equal(meter.most, 8);
      await rig.clock.until(resized(b, 1));
      assert.ok(meter.running > 1, "shrinking kills nothing");
      await rig.clock.advance(reportMs + taskMs);
      meter.reset();
      await rig.clock.advance(2 * taskMs);
      assert.equal(meter.most, 1);
      await rig.clock.until(resized(a, 18));
      await allEnd(rig);
      assert.equal(meter.ended.length, ids.length, "none was killed");
    });

    test("11.5 holds while members join, leave and die, and all is done in the end", async (t) => {
      const all = await metered(t, 4, { bus });
      const { rig, meter, a, c } = all;
      await submitAll(all);
      await rig.clock.advance(reportMs);
      assert.equal(meter.running, 4);
      await rig.join("d");
      await rig.clock.advance(reportMs);
      await rig.stop(a);
      await rig.clock.advance(reportMs);
      c.kill();
      meter.died("c");
      await rig.clock.advance(1000);
      await rig.join("e");
      await allEnd(rig);
      assert.equal(meter.most, 4);
    });

    test("11.5 holds while a member is silent, and its slots come back", async (t) => {
      const all = await metered(t, 2, { bus });
      const { rig, meter, a, b, c } = all;
      // With some of another's, so that slots are wanted elsewhere all the time.
      const own = (await rig.idsOn(b, ids)).slice(0, 4);
      const others = (await rig.idsOn(a, ids)).slice(0, 4);
      await submitAll(all, [...own, ...others]);
      await rig.clock.advance(reportMs);
      // The third member may run attempts of both.
      const silent = [b, c].find(({ name }) => meter.runningOn(name) > 0);
      assert.ok(meter.running === 2 && silent !== undefined);
      silent.connection.hang();
      for (const id of [...own, ...others]) await rig.clock.until(a.engine.awaitWorkflowInstance(id));
      silent.connection.mend();
      await rig.spread();
      assert.ok(meter.most <= 2, `${meter.most} at a time`);
      await submitAll(all, ["x0", "x1", "x2"]);
      await allEnd(rig, ["x0", "x1", "x2"]);
      assert.equal(meter.most, 2);
    });

    test("11.5 an attempt of one member has its turn, although another could use all slots for ever", async (t) => {
      const all = await metered(t, 2, { bus });
      const { rig, meter, a, b } = all;
      const greedy = Array.from({ length: 40 }, (_, place) => `g${place}`);
      const many = await rig.idsOn(a, greedy);
      const [few] = await rig.idsOn(b, greedy);
      assert.ok(many.length >= 8 && few !== undefined);
      await submitAll(all, many.slice(0, 4));
      await rig.clock.advance(reportMs);
      assert.equal(meter.running, 2);
      await submitAll(all, [few]);
      await rig.clock.advance(1000);
      await submitAll(all, many.slice(4));
      await rig.clock.until(a.engine.awaitWorkflowInstance(few));
      // The four that came before, itself, and those that may overtake it within a rebalance interval.
      assert.ok(meter.ended.length <= 4 + 1 + 3, `after ${meter.ended.length} others`);
      assert.equal(meter.most, 2);
    });
  });
}

describe("11.5 domains of a cluster", () => {
  test("11.5 a size that was set is what every member shows, also those that join later", async (t) => {
    const { rig, a, b, c } = await metered(t, 3);
    await rig.clock.until(resized(b, 7));
    await rig.clock.advance(15_000);
    const d = await rig.join("d");
    for (const { engine } of [a, b, c, d]) {
      assert.deepEqual(engine.executor.getDomainPoolStatus("narrow"), { running: 0, size: 7 });
    }
  });

  test("11.5 a size that an earlier owner set too late does not undo the one that was acknowledged last", async (t) => {
    const { rig, a, b, c } = await metered(t, 2);
    const owner = await rig.ownerOf("domain:narrow");
    const other = [a, b, c].find((member) => member !== owner);
    assert.ok(owner !== undefined && other !== undefined);
    // It has looked whether it was told before, and hangs when it writes.
    owner.connection.spares = (method) => method === "findRequest";
    owner.connection.hang();
    await rig.clock.until(resized(other, 8));
    await rig.clock.until(resized(other, 3));
    owner.connection.mend();
    await rig.spread();
    const d = await rig.join("d");
    assert.equal(d.engine.executor.getDomainPoolStatus("narrow").size, 3);
  });

  test("11.5 a domain that one member declares is every member's", async (t) => {
    const { rig, meter, a } = await metered(t, 3);
    const wide = workflow("wide", task("t", "measured").withDomain("wide").withTimeout(3600));
    await assert.rejects(
      rig.clock.until(a.engine.submitWorkflow(wide)),
      says("DOMAIN_UNKNOWN", '"wide"', "not declared"),
    );
    await rig.join("d", { domains: { wide: { size: 2 } } });
    await rig.clock.advance(15_000);
    const runs = Array.from({ length: 8 }, () => a.engine.submitWorkflow(wide));
    for (const run of await rig.clock.until(Promise.all(runs))) await rig.clock.until(run.result());
    assert.equal(meter.most, 2);
  });

  test("11.5 a size may be more than one member's pool, and a member runs no more than that", async (t) => {
    const { rig, meter, a, b, c } = await metered(t, 100, { poolSize: 3, poolSizeMax: 3 });
    const many = Array.from({ length: 40 }, (_, place) => `m${place}`);
    await submitAll({ rig, meter, a, b, c }, many);
    await rig.clock.advance(1000);
    for (const { name } of [a, b, c]) assert.equal(meter.runningOn(name), 3);
  });

  test("11.5 what waits says that it waits for a slot of the domain", async (t) => {
    const all = await metered(t, 1);
    const { rig, a, b, c, meter } = all;
    const [first] = await rig.idsOn(a, ids);
    const [second] = await rig.idsOn(b, ids);
    assert.ok(first !== undefined && second !== undefined);
    await submitAll(all, [first]);
    await rig.clock.advance(500);
    await submitAll(all, [second]);
    const view = await rig.clock.until(c.engine.getWorkflowInstanceStatus(second));
    assert.equal(taskOf(view, "t").wait?.text, "a free slot in domain narrow");
    await allEnd(rig, [first, second]);
    assert.equal(meter.most, 1);
  });

  test("4.1 a domain that one member declares is known to all within a beat of workers, and its limit holds", async (t) => {
    const { rig, meter, a, b, c } = await metered(t, 3);
    const late = workflow("late", task("t", "measured").withDomain("late").withTimeout(3600));
    await rig.clock.until(a.engine.executor.declareDomain("late", { size: 2, priority: 5 }));
    await rig.clock.advance(15_000);
    const members = [a, b, c];
    const submitted = ids.map((instanceId, place) =>
      (members[place % 3] ?? a).engine.submitWorkflow(late, { instanceId }),
    );
    await rig.clock.until(Promise.all(submitted));
    await allEnd(rig);
    assert.equal(meter.most, 2);
    for (const { engine } of members) {
      const known = engine.listDomains().find(({ domain }) => domain === "late");
      assert.deepEqual([known?.size, known?.priority], [2, 5]);
    }
  });

  test("4.1 a size or a domain that makes no sense is refused, and nothing changes", async (t) => {
    const { a } = await metered(t, 3);
    const { executor } = a.engine;
    const set = async (domain: string, size: number): Promise<void> => await executor.setDomainPoolSize(domain, size);
    await assert.rejects(set("nowhere", 1), says("DOMAIN_UNKNOWN", '"nowhere"', '"narrow"'));
    for (const size of [0, -1, 1.5, NaN])
      await assert.rejects(set("narrow", size), says("POOL_SIZE_INVALID", '"narrow"'));
    assert.equal(executor.getDomainPoolStatus("narrow").size, 3);
  });
});

function limited(max: number, policy: OverflowPolicy): Workflow {
  const builder = new WorkflowBuilder().withName("limited").withMaxInstances(max, policy);
  return builder.withTask(task("t", "work").withTimeout(3600).build()).build();
}

for (const [bus, how] of buses) {
  describe(`3.10 a workflow's maximum of instances, ${how}`, () => {
    async function three(t: TestContext) {
      const work = new HandJob();
      const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [work.job], bus });
      return { rig, clock: rig.clock, a, b, c, work };
    }

    async function statusesOf(rig: EngineClusterRig, of: readonly string[]): Promise<string[]> {
      const rows = await rig.rows();
      return of.map((id) => rows.find((row) => row.id === id)?.status ?? "none");
    }

    test("3.10 holds over members: those above it queue, and start as others end", async (t) => {
      const { rig, clock, a, b, c, work } = await three(t);
      const queued = limited(2, "queue");
      const some = ids.slice(0, 6);
      for (const [place, instanceId] of some.entries()) {
        await clock.until(([a, b, c][place % 3] ?? a).engine.submitWorkflow(queued, { instanceId }));
      }
      await clock.advance(3 * 5000);
      assert.equal(work.calls.length, 2);
      assert.deepEqual((await statusesOf(rig, some)).toSorted(), [
        "Ready",
        "Ready",
        "Ready",
        "Ready",
        "Running",
        "Running",
      ]);
      for (let done = 0; done < some.length; done++) {
        const running = (await statusesOf(rig, some)).filter((status) => status === "Running").length;
        assert.ok(running <= 2);
        while (work.calls.length <= done) await clock.advance(1000);
        const call = work.calls[done];
        call?.finish(done);
        await clock.until(b.engine.awaitWorkflowInstance(call?.ctx.instanceId ?? ""));
      }
      assert.equal(work.calls.length, some.length);
    });

    for (const [policy, status] of [
      ["skip", "Terminated"],
      ["fail", "Failed"],
    ] as const) {
      test(`3.10 holds over members: with ${policy} the next one ends as ${status}, with the reason`, async (t) => {
        const { rig, clock, a, b, c, work } = await three(t);
        const definition = limited(1, policy);
        await clock.until(a.engine.submitWorkflow(definition, { instanceId: await rig.idOn(b, "first") }));
        const first = await clock.until(work.call("t"));
        const above = await clock.until(
          b.engine.submitWorkflow(definition, { instanceId: await rig.idOn(c, "above") }),
        );
        const code = policy === "fail" ? "WORKFLOW_FAILED" : "WORKFLOW_TERMINATED";
        await assert.rejects(clock.until(above.result()), says(code, "too many instances(2>1)"));
        assert.equal((await clock.until(a.engine.getWorkflowInstanceStatus(above.instanceId))).status, status);
        first.finish(1);
        await clock.until(a.engine.awaitWorkflowInstance(first.ctx.instanceId));
        await clock.advance(lookMs);
        const next = await clock.until(c.engine.submitWorkflow(definition, { instanceId: await rig.idOn(a, "next") }));
        (await clock.until(work.call("t", { after: 1 }))).finish(2);
        assert.deepEqual(await clock.until(next.result()), { t: 2 });
      });
    }

    for (const goes of ["stops", "dies"] as const) {
      for (const policy of ["queue", "skip", "fail"] as const) {
        test(`3.10 with ${policy}, still holds when the member that keeps count ${goes}`, async (t) => {
          const { rig, clock, work } = await three(t);
          const definition = limited(1, policy);
          const gate = await rig.ownerOf(`workflow:${definition.name}`);
          const others = rig.running.filter((member) => member !== gate);
          const [x, y] = others as [RigMember, RigMember];
          assert.ok(gate !== undefined);
          await clock.until(x.engine.submitWorkflow(definition, { instanceId: await rig.idOn(x, "first") }));
          const first = await clock.until(work.call("t"));
          const waiting = await rig.idOn(y, "waiting");
          if (policy === "queue") await clock.until(x.engine.submitWorkflow(definition, { instanceId: waiting }));
          if (goes === "stops") await rig.stop(gate);
          else gate.kill();
          await rig.spread();
          const above = await clock.until(
            y.engine.submitWorkflow(definition, { instanceId: await rig.idOn(y, "above") }),
          );
          await clock.advance(15_000);
          assert.equal(work.calls.length, 1);
          const refused = { queue: "Ready", skip: "Terminated", fail: "Failed" }[policy];
          assert.deepEqual(await statusesOf(rig, [above.instanceId]), [refused]);
          first.finish(1);
          if (policy !== "queue") return;
          (await clock.until(work.call("t", { after: 1 }))).finish(2);
          (await clock.until(work.call("t", { after: 2 }))).finish(3);
          assert.deepEqual(work.calls.map(({ ctx }) => ctx.instanceId).slice(1), [waiting, above.instanceId]);
        });
      }
    }

    test("3.10 one that waits may be terminated, and lets the next one by", async (t) => {
      const { rig, clock, a, b, c, work } = await three(t);
      const definition = limited(1, "queue");
      const waiting = [await rig.idOn(a, "w"), await rig.idOn(b, "w"), await rig.idOn(c, "w")];
      for (const instanceId of waiting) {
        await clock.until(a.engine.submitWorkflow(definition, { instanceId }));
        await clock.advance(15_000);
      }
      await clock.until(c.engine.terminateWorkflowInstance(waiting[1] ?? "", "not any more"));
      (await clock.until(work.call("t"))).finish(1);
      const next = await clock.until(work.call("t", { after: 1 }));
      assert.equal(next.ctx.instanceId, waiting[2]);
    });

    test("3.10 a user who reopens an instance is not held up by it, but the instance counts", async (t) => {
      const { rig, clock, a, b, c, work } = await three(t);
      const definition = limited(1, "queue");
      const [first, second, third] = [await rig.idOn(a, "r"), await rig.idOn(b, "r"), await rig.idOn(c, "r")];
      await clock.until(b.engine.submitWorkflow(definition, { instanceId: first }));
      (await clock.until(work.call("t"))).fail(new Error("no"));
      await assert.rejects(clock.until(c.engine.awaitWorkflowInstance(first)), says("WORKFLOW_FAILED"));
      await clock.until(c.engine.submitWorkflow(definition, { instanceId: second }));
      const call = await clock.until(work.call("t", { instanceId: second }));
      await clock.until(c.engine.retryWorkflowInstance(first));
      const again = await clock.until(work.call("t", { instanceId: first, after: 1 }));
      await clock.until(a.engine.submitWorkflow(definition, { instanceId: third }));
      call.finish(2);
      await clock.until(a.engine.awaitWorkflowInstance(second));
      await clock.advance(15_000);
      assert.deepEqual(await statusesOf(rig, [first, second, third]), ["Running", "Success", "Ready"]);
      again.finish(1);
      (await clock.until(work.call("t", { instanceId: third }))).finish(3);
    });

    test("3.10 an instance that is reopened and ends again in the same turn takes up no place", async (t) => {
      const { rig, clock, a, b, c, work } = await three(t);
      const definition = limited(1, "queue");
      const [first, second] = [await rig.idOn(a, "e"), await rig.idOn(b, "e")];
      await clock.until(a.engine.submitWorkflow(definition, { instanceId: first }));
      (await clock.until(work.call("t"))).fail(new Error("no"));
      await assert.rejects(clock.until(c.engine.awaitWorkflowInstance(first)), says("WORKFLOW_FAILED"));
      // Both are in its inbox before its turn is opened.
      const retried = a.engine.retryWorkflowInstance(first);
      const ended = a.engine.terminateWorkflowInstance(first, "not any more");
      await clock.until(Promise.all([retried, ended]));
      await clock.advance(15_000);
      assert.deepEqual(await statusesOf(rig, [first]), ["Terminated"]);
      await clock.until(c.engine.submitWorkflow(definition, { instanceId: second }));
      await clock.advance(15_000);
      assert.deepEqual(await statusesOf(rig, [second]), ["Running"]);
    });

    test("3.10 instances of a version without a maximum hold up nobody", async (t) => {
      const { rig, clock, a, b, c, work } = await three(t);
      const free = workflow("limited", task("t", "work").withTimeout(3600));
      const [unlimited, waiting] = [await rig.idOn(a, "u"), await rig.idOn(b, "u")];
      await clock.until(b.engine.submitWorkflow(free, { instanceId: unlimited }));
      const call = await clock.until(work.call("t", { instanceId: unlimited }));
      await clock.until(c.engine.submitWorkflow(limited(1, "queue"), { instanceId: waiting }));
      call.finish(1);
      (await clock.until(work.call("t", { instanceId: waiting }), { maxMs: 60_000 })).finish(2);
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(waiting)), { t: 2 });
    });

    test("3.10 counts nested instances too", async (t) => {
      const { rig, clock, a, work } = await three(t);
      const outer = new WorkflowBuilder().withName("outer");
      for (let n = 0; n < 4; n++)
        outer.withTask(new TaskBuilder(`n${n}`).withNestedWorkflow(limited(1, "queue")).build());
      const run = await clock.until(a.engine.submitWorkflow(outer.build(), { instanceId: "x" }));
      for (let n = 0; n < 4; n++) {
        const call = await clock.until(work.call("t", { after: n }));
        await clock.advance(15_000);
        assert.equal(work.calls.length, n + 1);
        call.finish(n);
      }
      assert.equal(Object.keys(await clock.until(run.result())).length, 4);
      assert.ok((await rig.rows()).every(({ status }) => status === "Success"));
    });
  });
}
