/** Spec §12.1: the same Idempotency-Key again makes nothing new, here or after a restart. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

const reused = { status: 409, code: "IDEMPOTENCY_KEY_REUSED" };

describe("a key", () => {
  test("12.1 starts one instance, however often and from wherever it is sent", async (t) => {
    const rig = await ServerRig.start(t);
    const sent = { params: { id: "hello" }, body: { colour: "red" }, key: "k" };
    const [first, ...others] = await Promise.all(Array.from({ length: 10 }, () => rig.ok("triggerWorkflow", sent)));
    for (const other of others) assert.deepEqual(other, first);
    await rig.end(first?.instanceId ?? "");
    await rig.restart();
    assert.deepEqual(await rig.ok("triggerWorkflow", sent), first);
    await rig.refused("triggerWorkflow", { ...sent, body: { colour: "blue" } }, reused);
    await rig.refused("triggerWorkflow", { params: sent.params, key: "k" }, reused);
    const large = { params: { id: "hello" }, body: { text: "x".repeat(10_000) }, key: "large" };
    assert.deepEqual(await rig.ok("triggerWorkflow", large), await rig.ok("triggerWorkflow", large));
    await rig.refused("triggerWorkflow", { ...large, body: { text: "x".repeat(10_001) } }, reused);
    assert.equal((await rig.ok("listInstances")).items.length, 2);
    const other = await rig.ok("triggerWorkflow", { ...sent, params: { id: "pauses" } });
    assert.notDeepEqual(other, first);
  });

  test("12.1 runs a job once, and not with other parameters or as another job", async (t) => {
    const rig = await ServerRig.start(t);
    const sent = { params: { name: "say" }, body: "hi", key: "k" };
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => rig.ok("runJob", sent)));
    for (const other of others) assert.deepEqual(other, first);
    await rig.end(first?.instanceId ?? "");
    await rig.restart();
    assert.deepEqual(await rig.ok("runJob", sent), first);
    await rig.refused("runJob", { ...sent, body: "ho" }, reused);
    await rig.refused("runJob", { params: sent.params, key: "k" }, reused);
    const named = { params: { name: "repeat" }, body: 3, query: { instanceId: "three" }, key: "n" };
    assert.deepEqual(await rig.ok("runJob", named), await rig.ok("runJob", named));
    const exists = { status: 409, code: "INSTANCE_EXISTS" };
    await rig.refused("runJob", { ...named, params: { name: "say" } }, exists);
    await rig.refused("triggerWorkflow", { ...named, params: { id: "hello" } }, exists);
    assert.equal((await rig.ok("listInstances")).items.length, 2);
  });

  test("12.1 starts one instance of code, and one fork of it", async (t) => {
    const rig = await ServerRig.start(t);
    const sent = { params: { id: "talk" }, body: { topic: "tea" }, key: "k" };
    const { instanceId: id } = await rig.ok("triggerWorkflow", sent);
    assert.deepEqual(await rig.ok("triggerWorkflow", sent), { instanceId: id });
    await rig.refused("triggerWorkflow", { ...sent, body: { topic: "milk" } }, reused);
    await rig.ok("raiseEvent", { params: { id, name: "go" } });
    await rig.end(id);
    const fork = { params: { id }, body: { task: 0 }, key: "f" };
    const forked = await rig.ok("forkInstance", fork);
    await rig.restart();
    assert.deepEqual(await rig.ok("forkInstance", fork), forked);
    await rig.refused("forkInstance", { ...fork, body: { task: 1 } }, reused);
  });

  test("12.1 makes one workflow, one schedule, one run of it", async (t) => {
    const rig = await ServerRig.start(t);
    const workflow = { body: { name: "two", dagSpec: twoNodes }, key: "w" };
    const made = await Promise.all([rig.ok("createWorkflow", workflow), rig.ok("createWorkflow", workflow)]);
    assert.deepEqual(made[0], made[1]);
    await rig.restart();
    assert.deepEqual(await rig.ok("createWorkflow", workflow), made[0]);
    await rig.refused("createWorkflow", { ...workflow, body: { ...workflow.body, name: "other" } }, reused);
    const duplicate = { status: 409, code: "WORKFLOW_DUPLICATE" };
    await rig.refused("createWorkflow", { ...workflow, key: "another" }, duplicate);
    const schedule = { body: { scheduleId: "s", workflow: "two", every: { cron: "0 0 * * *" } }, key: "s" };
    await rig.ok("createSchedule", schedule);
    await rig.ok("createSchedule", schedule);
    assert.equal((await rig.ok("listSchedules")).items.length, 1);
    const run = { params: { id: "s" }, key: "r" };
    assert.deepEqual(await rig.ok("triggerSchedule", run), await rig.ok("triggerSchedule", run));
  });

  test("12.1 of a request whose server went down after the work and before the answer finds the work", async (t) => {
    const rig = await ServerRig.start(t, { drainSeconds: 0 });
    /** Does it, and is never heard of again. */
    const goDownAfter = <Arguments extends unknown[]>(work: (...given: Arguments) => Promise<unknown>) => {
      const { promise: isDone, resolve } = Promise.withResolvers<void>();
      const down = async (...given: Arguments): Promise<never> => {
        await work(...given);
        resolve();
        return await new Promise<never>(() => undefined);
      };
      return { down, isDone };
    };
    const { catalogue, engine } = rig.server;
    const workflow = { body: { name: "two", dagSpec: twoNodes }, key: "w" };
    const create = goDownAfter(catalogue.create.bind(catalogue));
    catalogue.create = create.down;
    const schedule = { body: { scheduleId: "s", workflow: "hello", every: { cron: "0 0 * * *" } }, key: "s" };
    const plan = goDownAfter(engine.schedules.create.bind(engine.schedules));
    engine.schedules.create = plan.down;
    const lost = [rig.send("createWorkflow", workflow), rig.send("createSchedule", schedule)];
    await Promise.all([create.isDone, plan.isDone]);
    await rig.stop();
    for (const { status } of await Promise.allSettled(lost)) assert.equal(status, "rejected");
    await rig.begin();
    assert.equal((await rig.ok("createWorkflow", workflow)).name, "two");
    assert.equal((await rig.ok("createSchedule", schedule)).scheduleId, "s");
    assert.equal((await rig.ok("listWorkflowVersions", { params: { id: "two" } })).items.length, 1);
    await rig.refused("createWorkflow", { ...workflow, key: "other" }, { status: 409, code: "WORKFLOW_DUPLICATE" });
  });

  test("12.1 is a caller's own, and the ids that are made of keys are nobody's", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root" });
    const { token } = await rig.ok("createToken", { token: "root", body: { name: "ann", role: "operator" } });
    const sent = { params: { id: "hello" }, key: "k" };
    const ofRoot = await rig.ok("triggerWorkflow", { ...sent, token: "root" });
    assert.notDeepEqual(await rig.ok("triggerWorkflow", { ...sent, token }), ofRoot);
    for (const instanceId of [ofRoot.instanceId, "schedule:mine"]) {
      const given = { params: { id: "hello" }, query: { instanceId }, token };
      await rig.refused("triggerWorkflow", given, { status: 400, code: "REQUEST_INVALID" });
    }
  });

  test("12.1 of a request that failed is free for the next try", async (t) => {
    const rig = await ServerRig.start(t);
    const sent = { body: { name: "two", dagSpec: { nodes: [] } }, key: "w" };
    await rig.refused("createWorkflow", sent, { status: 422, code: "WORKFLOW_EMPTY" });
    await rig.ok("createWorkflow", { body: { name: "two", dagSpec: twoNodes }, key: "w" });
  });

  test("12.1 makes one token: the same key again gives it another secret, and keeps none in the store", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root" });
    const sent = { token: "root", body: { name: "ann", role: "viewer" }, key: "t" };
    const first = await rig.ok("createToken", sent);
    const second = await rig.ok("createToken", sent);
    assert.notEqual(first.token, second.token);
    await rig.refused("getCluster", { token: first.token }, { status: 401, code: "UNAUTHORIZED" });
    await rig.ok("getCluster", { token: second.token });
    await rig.refused("createToken", { ...sent, body: { name: "ann", role: "admin" } }, reused);
    const { items } = await rig.ok("listTokens", { token: "root" });
    assert.deepEqual(
      items.map(({ name, createdAt }) => [name, createdAt === null]),
      [
        ["environment", true],
        ["ann", false],
      ],
    );
  });
});
