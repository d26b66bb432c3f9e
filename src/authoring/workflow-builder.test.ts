import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskBuilder } from "./task-builder.ts";
import type { Workflow } from "./workflow.ts";
import { WorkflowBuilder } from "./workflow-builder.ts";

function task(name: string, ...dependencies: string[]): TaskBuilder {
  return new TaskBuilder(name).withJobFunction("run").withDependencies(dependencies);
}

function builder(...tasks: TaskBuilder[]): WorkflowBuilder {
  const builder = new WorkflowBuilder().withName("nightly");
  for (const each of tasks) builder.withTask(each);
  return builder;
}

/** For each task's name the names it waits for. */
function waits(workflow: Workflow): Record<string, string[]> {
  const name = (id: string) => workflow.tasks.get(id)?.name ?? "?";
  return Object.fromEntries([...workflow.dependencies].map(([id, ids]) => [name(id), ids.map(name)]));
}

test("dependencies are names and become ids, whatever the order", () => {
  const workflow = builder(
    task("index", "join"),
    task("join", "orders", "customers"),
    task("orders"),
    task("customers"),
  )
    .withTask(task("report", "join").build())
    .build();
  assert.match(workflow.id, /^[0-9a-f-]{36}$/);
  assert.equal(workflow.name, "nightly");
  assert.deepEqual(waits(workflow), {
    index: ["join"],
    join: ["orders", "customers"],
    orders: [],
    customers: [],
    report: ["join"],
  });
  assert.equal(workflow.tasks.size, 5);
  for (const [id, each] of workflow.tasks) assert.equal(each.id, id);
  assert.equal(workflow.task("join")?.name, "join");
  assert.equal(workflow.task("nobody"), undefined);
});

test("settings reach the workflow and its JSON", () => {
  const workflow = builder(task("a"))
    .withDomain("market-data")
    .withMaxConcurrentTasks(2)
    .withTimeout(60)
    .withContext({ day: "monday" })
    .withFailurePolicy("continue")
    .withMaxInstances(3)
    .build();
  const settings = {
    domain: "market-data",
    maxConcurrentTasks: 2,
    timeoutSeconds: 60,
    context: { day: "monday" },
    failurePolicy: "continue",
    maxInstances: { max: 3, policy: "queue" },
  };
  const { nodes, edges, ...written } = workflow.toJSON();
  assert.deepEqual(written, { id: workflow.id, name: "nightly", ...settings });
  assert.equal(nodes.length, 1);
  assert.deepEqual(edges, []);
  for (const [name, value] of Object.entries(settings)) assert.deepEqual(workflow[name as "domain"], value);
});

test("what is not set has its default", () => {
  const workflow = builder(task("a")).withMaxInstances(0).build();
  assert.equal(workflow.domain, undefined);
  assert.equal(workflow.maxConcurrentTasks, undefined);
  assert.equal(workflow.timeoutSeconds, undefined);
  assert.equal(workflow.failurePolicy, "finish-running");
  assert.equal(workflow.maxInstances, undefined);
  assert.deepEqual(workflow.context, {});
});

test("nodes are numbered from 1 and edges carry what a decision must say", () => {
  const decide = new TaskBuilder("decide").withDecision("context.full").withDependency("a");
  const spec = builder(
    task("a"),
    decide,
    task("full").withDependency("decide", { when: true }),
    task("small").withDependency("decide", { when: "default" }),
  )
    .build()
    .toJSON();
  assert.deepEqual(
    spec.nodes.map(({ nodeId, nodeName, nodeType }) => [nodeId, nodeName, nodeType]),
    [
      [1, "a", 1],
      [2, "decide", 2],
      [3, "full", 1],
      [4, "small", 1],
    ],
  );
  assert.deepEqual(spec.edges, [
    { from: 1, to: 2 },
    { from: 2, to: 3, property: "true" },
    { from: 2, to: 4, property: "default" },
  ]);
});

test("a builder given as a task is built anew for each workflow", () => {
  const nightly = builder(task("a"));
  const [first, second] = [nightly.build(), nightly.build()];
  assert.notEqual(first.id, second.id);
  assert.notEqual(first.task("a"), second.task("a"));
  assert.equal(first.version, second.version);
});

test("definitions that cannot run are refused", () => {
  const refuse = (wrong: WorkflowBuilder, code: string, message: RegExp) =>
    assert.throws(() => wrong.build(), { code, message });
  refuse(builder(task("a"), task("b"), task("a")), "TASK_DUPLICATE", /"nightly": two tasks are called "a"/);
  refuse(
    builder(task("orders"), task("join", "order")),
    "DEPENDENCY_UNKNOWN",
    /"join" depends on "order".*mean "orders"\?/,
  );
  refuse(builder(task("a"), task("b", "zzz")), "DEPENDENCY_UNKNOWN", /"zzz", which does not exist$/);
  refuse(builder(task("a", "a")), "DEPENDENCY_SELF", /"a" depends on itself/);
  refuse(
    builder(task("start"), task("a", "c"), task("b", "a"), task("c", "b", "start")),
    "WORKFLOW_CYCLE",
    /a → b → c → a/,
  );
  refuse(builder(), "WORKFLOW_EMPTY", /"nightly" has no tasks/);
});

test("settings out of range are refused", () => {
  const refuse = (change: (builder: WorkflowBuilder) => unknown, message: RegExp) => {
    const wrong = builder(task("a"));
    change(wrong);
    assert.throws(() => wrong.build(), { code: "WORKFLOW_INVALID", message });
  };
  refuse((w) => w.withName(""), /a workflow: its name must be text, not blank/);
  refuse((w) => w.withDomain(" "), /workflow "nightly": domain must be text/);
  refuse((w) => w.withMaxConcurrentTasks(0), /maxConcurrentTasks must be a whole number, at least 1/);
  refuse((w) => w.withTimeout(-5), /timeout must be a number of seconds/);
  refuse((w) => w.withContext([] as never), /context must be an object, got a list/);
  refuse((w) => w.withFailurePolicy("panic" as never), /failure policy must be one of "finish-running"/);
  refuse((w) => w.withMaxInstances(1.5), /maxInstances must be a whole number/);
  refuse((w) => w.withMaxInstances(1, "drop" as never), /maxInstances' policy must be one of "queue"/);
  refuse((w) => w.withTask(undefined as never), /withTask takes a Task or a TaskBuilder, got undefined/);
  assert.throws(() => new WorkflowBuilder().withTask(task("a")).build(), { code: "WORKFLOW_INVALID", message: /name/ });
  assert.throws(() => builder(task("a")).withContext({ n: 1n }).build(), {
    code: "VALUE_NOT_SERIALIZABLE",
    message: /context cannot be written as JSON: a BigInt at n/,
  });
});

test("the context is a copy", () => {
  const context = { list: [1] };
  const workflow = builder(task("a")).withContext(context).build();
  context.list.push(2);
  assert.deepEqual(workflow.context, { list: [1] });
});
