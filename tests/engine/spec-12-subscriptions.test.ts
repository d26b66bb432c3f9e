/** Spec §12.2: subscribers hear every durable change, whichever member of the cluster commits it. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defineJob, type InstanceChange, TaskBuilder, type Workflow, WorkflowBuilder } from "../../src/index.ts";
import { buses, type BusKind, EngineClusterRig, type RigMember } from "./engine-cluster-rig.ts";

/** Three tasks in a row, each of which takes a second. */
function threeSteps(): Workflow {
  const builder = new WorkflowBuilder().withName("steps");
  for (const [name, before] of [["one"], ["two", "one"], ["three", "two"]] as const) {
    const task = new TaskBuilder(name).withJobFunction("second");
    builder.withTask(before === undefined ? task : task.withDependencies([before]));
  }
  return builder.build();
}

async function startThree(t: TestContext, bus: BusKind = "in-process") {
  // The job sleeps on the rig's clock, which is made later.
  let sleep = (): Promise<void> => Promise.resolve();
  const second = defineJob("second", () => sleep());
  const started = await EngineClusterRig.start(t, 3, { jobs: [second], bus });
  const [rig] = started;
  sleep = () => new Promise((resolve) => void rig.clock.after(1000, resolve));
  return started;
}

/** The turns that were heard of an instance. */
class Heard {
  readonly changes: InstanceChange[] = [];
  readonly take = (change: InstanceChange): void => void this.changes.push(change);

  of(instanceId: string): string[] {
    return this.changes.filter((change) => change.instanceId === instanceId).map(textOf);
  }
}

const textOf = ({ turn, events, status }: Pick<InstanceChange, "turn" | "events" | "status">): string =>
  `${turn} ${events.map(({ type }) => type).join(",")} ${status}`;

async function submit(rig: EngineClusterRig, member: RigMember, instanceId: string): Promise<void> {
  await rig.clock.until(member.engine.submitWorkflow(threeSteps(), { instanceId }));
}

async function untilEnded(rig: EngineClusterRig, member: RigMember, instanceId: string): Promise<void> {
  await rig.until(member, instanceId, ({ status }) => status === "Success");
  await rig.clock.advance(3000);
}

describe("12.2 engine.subscribe in a cluster", () => {
  for (const [bus, text] of buses) {
    test(`12.2 hears the same turns in the same order at every member, ${text}`, { timeout: 60_000 }, async (t) => {
      const [rig, a, b, c] = await startThree(t, bus);
      const instanceId = await rig.idOn(b);
      const all = [a, b, c].map(({ engine }) => {
        const [wide, one] = [new Heard(), new Heard()];
        return { wide, one, stops: [engine.subscribe(wide.take), engine.subscribe(one.take, { instanceId })] };
      });
      for (const { stops } of all) for (const { ready } of stops) await rig.clock.until(ready);
      await submit(rig, a, instanceId);
      await untilEnded(rig, a, instanceId);
      const expected = all[1]?.one.of(instanceId) ?? [];
      assert.ok(expected.length >= 4);
      assert.match(expected.at(-1) ?? "", /InstanceEnded Success$/);
      for (const { wide, one } of all) {
        assert.deepEqual(one.of(instanceId), expected);
        assert.deepEqual(wide.of(instanceId), expected);
      }
      for (const { stops } of all) for (const stop of stops) stop();
    });
  }

  test("12.2 hears every turn once while the owner dies and another takes over", { timeout: 60_000 }, async (t) => {
    const [rig, a, b, c] = await startThree(t);
    const instanceId = await rig.idOn(b);
    const [one, wide] = [new Heard(), new Heard()];
    const stops = [a.engine.subscribe(one.take, { instanceId }), c.engine.subscribe(wide.take)];
    for (const { ready } of stops) await rig.clock.until(ready);
    await submit(rig, a, instanceId);
    await rig.clock.advance(1500);
    b.kill();
    await rig.clock.advance(60_000);
    await untilEnded(rig, a, instanceId);
    const turns = one.changes.map(({ turn }) => turn);
    assert.deepEqual(turns, [...turns.keys()]);
    assert.equal(one.changes.at(-1)?.status, "Success");
    assert.deepEqual(wide.of(instanceId), one.of(instanceId));
    for (const stop of stops) stop();
  });

  test("12.2 hears what follows the turn at which it began, and nothing earlier", { timeout: 60_000 }, async (t) => {
    const [rig, a, b] = await startThree(t, "deaf");
    const instanceId = await rig.idOn(b);
    const full = new Heard();
    b.engine.subscribe(full.take, { instanceId });
    await submit(rig, b, instanceId);
    const late = new Heard();
    const stop = a.engine.subscribe(late.take, { instanceId });
    await untilEnded(rig, b, instanceId);
    await rig.clock.advance(5000);
    assert.equal(full.changes.at(-1)?.status, "Success");
    const count = late.changes.length;
    assert.deepEqual(late.of(instanceId), count === 0 ? [] : full.of(instanceId).slice(-count));
    assert.ok(count < full.changes.length);
    stop();
  });

  test("12.2 hears of its own process alone with the scope process", { timeout: 60_000 }, async (t) => {
    const [rig, a, b] = await startThree(t);
    const own = await rig.idOn(a);
    const other = await rig.idOn(b);
    const heard = new Heard();
    const stop = a.engine.subscribe(heard.take, { scope: "process" });
    for (const id of [own, other]) await submit(rig, a, id);
    for (const id of [own, other]) await untilEnded(rig, a, id);
    assert.equal(heard.of(other).length, 0);
    assert.ok(heard.of(own).length >= 4);
    stop();
  });
});

describe("3.6 controller.workflow in a cluster", () => {
  test("3.6 is live on a member that does not own the instance", { timeout: 60_000 }, async (t) => {
    const [rig, a, b, c] = await startThree(t);
    const instanceId = await rig.idOn(b);
    await submit(rig, a, instanceId);
    const { workflow } = await rig.clock.until(c.engine.getWorkflowController(instanceId));
    await rig.clock.until(workflow.refresh());
    assert.deepEqual([workflow.task("one")?.status, workflow.task("three")?.status], ["Running", "Pending"]);
    const seen: (string | undefined)[] = [];
    for (let quarter = 0; quarter < 16; quarter++) {
      await rig.clock.advance(250);
      seen.push(workflow.task("two")?.status);
    }
    assert.deepEqual([...new Set(seen)], ["Pending", "Running", "Success"]);
    await untilEnded(rig, c, instanceId);
    assert.equal(workflow.task("three")?.status, "Success");
  });
});
