/** Spec §8.4: namespaces. What is in one cannot be seen, changed or inferred in another. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import {
  defineJob,
  defineWorkflow,
  type Engine,
  type EngineNamespace,
  type JobContext,
  type WorkflowContext,
  TaskBuilder,
} from "../../src/index.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { says, startEngine, task, workflow } from "./rig.ts";

interface SeenRun {
  readonly where: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskId: string;
}

/** The same program in two namespaces; each notes what its jobs see. */
class Tenant {
  readonly seen: SeenRun[] = [];
  readonly name: string;
  readonly space: EngineNamespace;
  readonly note = defineJob("note", (_: unknown, { instanceId, workflowName, taskId }: JobContext) => {
    this.seen.push({ where: this.name, instanceId, workflowName, taskId });
    return this.name;
  });
  readonly child = defineWorkflow("child", async (ctx: WorkflowContext) => {
    const data = await ctx.waitForEvent<string>("go");
    return `${this.name} ${ctx.instanceId} ${ctx.parentInstanceId ?? ""} ${data}`;
  });
  readonly parent = defineWorkflow("parent", async (ctx: WorkflowContext) => {
    const id = ctx.startChild("child", undefined, { instanceId: "kid" });
    ctx.sendEvent(id, "go", "at once");
    return [ctx.instanceId, id, await ctx.run("note", {}, { domain: "heavy" })];
  });

  constructor(engine: Engine, name: string) {
    this.name = name;
    this.space = engine.inNamespace(name);
  }

  async begin(): Promise<void> {
    this.space.registerJobFunction(this.note);
    await this.space.registerWorkflow(this.child);
    await this.space.registerWorkflow(this.parent);
    await this.space.executor.declareDomain("heavy", { size: 1 });
  }
}

async function two(t: TestContext, logger = new LogBook()): Promise<{ engine: Engine; a: Tenant; b: Tenant }> {
  const engine = await startEngine(t, { logger, storage: memoryStore() });
  const [a, b] = [new Tenant(engine, "default"), new Tenant(engine, "acme")];
  await a.begin();
  await b.begin();
  return { engine, a, b };
}

const flow = workflow("flow", task("t", "note").withDomain("heavy"));

describe("8.4 two namespaces", () => {
  test("8.4 run the same ids, workflows, jobs and domains side by side", async (t) => {
    const { a, b } = await two(t);
    for (const { space, name } of [a, b]) {
      const run = await space.submitWorkflow(flow, { instanceId: "order-1" });
      assert.equal(run.instanceId, "order-1");
      assert.deepEqual(await run.result(), { t: name });
    }
    assert.deepEqual(a.seen, [{ where: "default", instanceId: "order-1", workflowName: "flow", taskId: "order-1::0" }]);
    // An idempotency key that jobs hand to other systems differs between namespaces.
    assert.deepEqual(b.seen, [
      { where: "acme", instanceId: "order-1", workflowName: "flow", taskId: "@acme/order-1::0" },
    ]);
  });

  test("8.4 code starts children, sends events and names itself within its own namespace", async (t) => {
    const { a, b } = await two(t);
    for (const { space, name, parent } of [a, b]) {
      const run = await space.startWorkflow(parent, undefined, { instanceId: "p" });
      assert.deepEqual(await run.result(), ["p", "kid", name]);
      assert.equal(await space.awaitWorkflowInstance("kid"), `${name} kid p at once`);
      assert.deepEqual((await space.listWorkflowInstances()).map(({ id }) => id).toSorted(), ["kid", "p"]);
      const { workflowName, tasks } = await space.getWorkflowInstanceStatus("p");
      assert.equal(workflowName, "parent");
      assert.deepEqual(
        tasks.map(({ childInstanceId }) => childInstanceId),
        ["kid", undefined],
      );
    }
  });

  test("8.4 an instance of one is unknown in the other, to every method", async (t) => {
    const { a, b } = await two(t);
    await b.space.startWorkflow(b.child, undefined, { instanceId: "secret" });
    const unknown = says("INSTANCE_UNKNOWN", 'no instance with id "secret" is known');
    const { space } = a;
    const calls = [
      () => space.getWorkflowInstanceStatus("secret"),
      () => space.getWorkflowInstanceHistory("secret"),
      () => space.getWorkflowInstanceBreakpoint("secret"),
      () => space.exportWorkflowInstanceHistory("secret"),
      () => space.awaitWorkflowInstance("secret"),
      () => space.getWorkflowHandle("secret"),
      () => space.getWorkflowController("secret"),
      () => space.getTask("secret", 0),
      () => space.getTaskOutput("secret", "t"),
      () => space.raiseEvent("secret", "go"),
      () => space.queryWorkflowInstance("secret", "q"),
      () => space.updateWorkflowInstance("secret", "u"),
      () => space.pauseWorkflowInstance("secret"),
      () => space.resumeWorkflowInstance("secret"),
      () => space.terminateWorkflowInstance("secret"),
      () => space.cancelWorkflowInstance("secret"),
      () => space.retryWorkflowInstance("secret"),
      () => space.rerunWorkflowInstance("secret", "t"),
      () => space.succeedTask("secret", "t"),
      () => space.skipTask("secret", "t"),
      () => space.stopTask("secret", "t"),
      () => space.updateContext("secret", {}),
      () => space.updateTaskParams("secret", "t", 1),
      () => space.addSubTask("secret", task("s", "note").build(), "t"),
      () => space.forkWorkflowInstance("secret", { fromTask: 0 }),
      () => space.purgeWorkflowInstances({ instanceId: "secret" }),
    ];
    for (const call of calls) await assert.rejects(call, unknown, call.toString());
    assert.equal(await space.purgeWorkflowInstances({ status: "Success", endedBefore: Number.MAX_SAFE_INTEGER }), 0);
    assert.deepEqual(await space.listWorkflowInstances(), []);
    assert.deepEqual(await space.listQueuedTasks(), []);
    assert.equal((await b.space.getWorkflowInstanceStatus("secret")).status, "Running");
  });

  test("8.4 an id or a name with a prefix reaches no other namespace, however it is nested", async (t) => {
    const { a, b } = await two(t);
    await b.space.startWorkflow(b.child, undefined, { instanceId: "order-1" });
    const refused = says("OPTION_INVALID", 'must not begin with "@"');
    for (const id of ["@acme/order-1", "@default/@acme/order-1", "@default/@default/@acme/order-1", "@", "@/order-1"]) {
      await assert.rejects(a.space.getWorkflowInstanceStatus(id), refused);
      await assert.rejects(a.space.terminateWorkflowInstance(id), refused);
      await assert.rejects(a.space.submitWorkflow(flow, { instanceId: id }), refused);
      assert.throws(() => a.space.subscribe(() => undefined, { instanceId: id }), refused);
      await assert.rejects(a.space.purgeWorkflowInstances({ instanceId: id }), refused);
      assert.deepEqual(await a.space.listWorkflowInstances({ idPrefix: id }), []);
      assert.deepEqual(await a.space.listWorkflowInstances({ workflow: id }), []);
    }
    assert.throws(
      () => a.space.registerJobFunction("@acme/note", () => 1),
      says("JOB_INVALID", "must not have an @ in its name"),
    );
    await assert.rejects(
      a.space.registerWorkflow(defineWorkflow("@acme/child", () => Promise.resolve(1))),
      says("WORKFLOW_INVALID", 'must not begin with "@"'),
    );
    await assert.rejects(a.space.submitWorkflow(workflow("@acme/flow", task("t", "note"))), says("WORKFLOW_INVALID"));
    await assert.rejects(a.space.executor.declareDomain("@acme/heavy", { size: 1 }), refused);
    assert.equal((await b.space.getWorkflowInstanceStatus("order-1")).status, "Running");
  });

  test("8.4 names with a prefix in definitions and in code stay in the namespace", async (t) => {
    const { a, b } = await two(t);
    await assert.rejects(
      a.space.submitWorkflow(workflow("f", task("t", "@acme/note"))),
      says("JOB_MISSING", '"@acme/note" is not registered'),
    );
    await assert.rejects(
      a.space.submitWorkflow(workflow("f", new TaskBuilder("t").withNestedWorkflow("@acme/child"))),
      says("WORKFLOW_UNKNOWN"),
    );
    const hostile = defineWorkflow("hostile", async (ctx: WorkflowContext) => {
      const tries = [
        () => ctx.sendEvent("@acme/victim", "go", "from outside"),
        () => ctx.cancelInstance("@acme/victim", "from outside"),
        () => ctx.startChild("child", undefined, { instanceId: "@acme/kid" }),
      ];
      const refusals = tries.map((attempt) => {
        try {
          attempt();
          return "accepted";
        } catch (error) {
          return (error as { code?: string }).code;
        }
      });
      return Promise.resolve(refusals);
    });
    await a.space.registerWorkflow(hostile);
    await b.space.startWorkflow(b.child, undefined, { instanceId: "victim" });
    const run = await a.space.startWorkflow(hostile, undefined);
    assert.deepEqual(await run.result(), ["OPTION_INVALID", "OPTION_INVALID", "OPTION_INVALID"]);
    assert.equal((await b.space.getWorkflowInstanceStatus("victim")).historyLength, 2);
  });

  test("8.4 refusals name nothing of another namespace, and nothing is qualified in what users see", async (t) => {
    const logger = new LogBook();
    const clock = new TestClock();
    const engine = await startEngine(t, { logger, clock, storage: memoryStore() });
    const canary = engine.inNamespace("canary");
    const said: unknown[] = [];
    const note = async (call: () => unknown): Promise<void> => {
      try {
        said.push(await clock.until(Promise.resolve(call())));
      } catch (error) {
        said.push(`${(error as Error).name} ${(error as Error).message}`);
      }
    };
    canary.subscribe((change) => said.push(change));
    canary.registerJobFunction("slow", (_: unknown, { signal, log }: JobContext) => {
      log.warn({}, "a line of the job");
      return new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    canary.registerJobFunction("broken", () => Promise.reject(new Error("my own text @canary/kept")));
    await canary.executor.declareDomain("narrow", { size: 1 });
    const timedOut = workflow("timed", task("t", "slow").withTimeout(1).withDomain("narrow"));
    const waiting = workflow("waits", task("t", "slow").withTimeout(60).withDomain("narrow"));
    await note(async () => (await canary.submitWorkflow(timedOut, { instanceId: "x" })).instanceId);
    await note(async () => (await canary.submitWorkflow(waiting, { instanceId: "y" })).instanceId);
    await note(() => canary.submitWorkflow(waiting, { instanceId: "y" }).then(() => 0));
    await note(() => canary.listQueuedTasks());
    await note(() => canary.getWorkflowInstanceStatus("y"));
    await clock.advance(3000);
    await note(() => canary.awaitWorkflowInstance("x"));
    await note(() => canary.getWorkflowInstanceStatus("x"));
    await note(() => canary.getWorkflowInstanceHistory("x"));
    await note(() => canary.listWorkflowInstances());
    await note(() => canary.listJobs());
    await note(() => canary.listDomains());
    await note(() => canary.listWorkers());
    await note(() => canary.listWorkflows());
    await note(() => canary.getWorkflowInstanceStatus("missing"));
    await note(() => canary.executor.getDomainPoolStatus("narow"));
    await note(() => canary.executor.setDomainPoolSize("narrow", 0));
    await note(() => canary.submitWorkflow(workflow("w", task("t", "slo"))).then(() => 0));
    await note(() => canary.submitWorkflow(workflow("w", task("t", "slow").withDomain("narow"))).then(() => 0));
    await note(() => canary.pauseWorkflowInstance("x"));
    await note(() => canary.skipTask("x", "nothing"));
    await note(() => canary.terminateWorkflowInstance("y"));
    assert.ok(!JSON.stringify(said).includes("@canary"), JSON.stringify(said).match(/.{120}@canary.{80}/)?.[0]);
    const lines = JSON.stringify(logger.lines);
    assert.ok(
      !lines.replaceAll(/"attemptId":"@canary/g, "").includes("@canary"),
      lines.match(/.{120}@canary.{80}/)?.[0],
    );
    // The text of a user's own error is left as it is.
    await note(async () =>
      (await canary.submitWorkflow(workflow("b", task("t", "broken")), { instanceId: "z" })).result(),
    );
    assert.match(String(said.at(-1)), /my own text @canary\/kept/);
    const elsewhere: unknown[] = [];
    for (const call of [
      () => engine.executor.getDomainPoolStatus("narow"),
      () => engine.submitWorkflow(workflow("w", task("t", "slo"))),
      () => engine.submitWorkflow(workflow("w", task("t", "slow").withDomain("narow"))),
      () => engine.getWorkflowInstanceStatus("x"),
      () => engine.listQueuedTasks(),
      () => engine.listDomains(),
      () => engine.listJobs(),
      () => engine.listWorkers(),
    ]) {
      await note(call);
      elsewhere.push(said.at(-1));
    }
    assert.doesNotMatch(JSON.stringify(elsewhere), /slow|narrow|timed|canary/);
  });

  test("8.4 schedules, limits of instances and the records of jobs are each namespace's own", async (t) => {
    const clock = new TestClock();
    const storage = memoryStore();
    const engine = await startEngine(t, { clock, storage });
    const acme = engine.inNamespace("acme");
    const job = (): string => "done";
    engine.registerJobFunction("tick", job);
    acme.registerJobFunction("tick", job);
    await clock.until(engine.schedules.create("every", { job: "tick", every: { rateMs: 60_000 } }));
    await clock.until(acme.schedules.create("every", { job: "tick", every: { rateMs: 3_600_000 } }));
    await clock.advance(10 * 60_000);
    const runs = async (space: EngineNamespace): Promise<number> =>
      (await clock.until(space.listWorkflowInstances({ workflow: "job:tick", limit: 1000 }))).length;
    assert.equal(await runs(engine), 10);
    assert.equal(await runs(acme), 0);
    await clock.until(engine.schedules.delete("every"));
    assert.deepEqual(
      (await clock.until(acme.schedules.list())).map(({ scheduleId }) => scheduleId),
      ["every"],
    );
    assert.deepEqual(
      (await clock.until(acme.listJobs())).map(({ name }) => name),
      ["tick"],
    );
    const single = workflow("single", task("t", "tick"));
    assert.equal((await clock.until(engine.submitWorkflow(single))).workflow.name, "single");
    await assert.rejects(
      clock.until(engine.inNamespace("globex").submitWorkflow(single)),
      says("JOB_MISSING", "no job is"),
    );
  });

  test("8.4 a namespace of the options, and what it leaves, is found again after a restart", async (t) => {
    const storage = memoryStore();
    const wait = defineWorkflow("wait", (ctx: WorkflowContext) => ctx.waitForEvent("go"));
    const options = { storage, namespace: "acme", app: "billing", workflows: [wait], domains: { d: { size: 2 } } };
    const first = await startEngine(t, options);
    await first.startWorkflow(wait, undefined, { instanceId: "w" });
    await first.stop();
    const second = await startEngine(t, options);
    assert.equal(second.namespace, "acme");
    assert.equal((await second.getWorkflowInstanceStatus("w")).app, "billing");
    await second.raiseEvent("w", "go", 7);
    assert.equal(await second.awaitWorkflowInstance("w"), 7);
    assert.deepEqual(
      second.listDomains().map(({ domain }) => domain),
      ["default", "d"],
    );
    assert.deepEqual(
      second
        .inNamespace("default")
        .listDomains()
        .map(({ domain }) => domain),
      ["default"],
    );
    assert.throws(() => second.inNamespace("Acme"), says("OPTION_INVALID", "lower-case letters"));
    await assert.rejects(startEngine(t, { namespace: "a/b" }), says("OPTION_INVALID", '"namespace"'));
  });
});
