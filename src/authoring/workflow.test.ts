import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { TaskBuilder } from "./task-builder.ts";
import { Workflow } from "./workflow.ts";
import { WorkflowBuilder } from "./workflow-builder.ts";

function task(name: string, ...dependencies: string[]): TaskBuilder {
  return new TaskBuilder(name).withJobFunction("run", { of: name }).withDependencies(dependencies);
}

function workflow(...tasks: TaskBuilder[]): Workflow {
  const builder = new WorkflowBuilder().withName("nightly");
  for (const each of tasks) builder.withTask(each);
  return builder.build();
}

function names(workflow: Workflow, taskName: string): string[] {
  const ids = workflow.dependencies.get(workflow.task(taskName)?.id ?? "") ?? [];
  return ids.map((id) => workflow.tasks.get(id)?.name ?? "?");
}

/** As PowerJob writes it: no names of jobs, run-time fields of the last run, fields of its own. */
const powerJobFile = {
  nodes: [
    {
      nodeId: 11,
      nodeType: 1,
      jobId: 101,
      nodeName: "extract",
      nodeParams: "--full",
      status: 5,
      result: "ok",
      instanceId: "9",
    },
    { nodeId: 12, nodeType: 2, jobId: null, nodeName: "decide", nodeParams: "true", disableByControlNode: false },
    { nodeId: 13, jobId: 103, nodeName: "extract", enable: false, skipWhenFailed: true, nodeParams: '{"a":1}' },
    { nodeId: "x", nodeType: 3, jobId: 7, position: { x: 1, y: 2 } },
  ],
  edges: [
    { from: 11, to: 12 },
    { from: 12, to: 13, property: "true", label: "yes" },
    { from: 12, to: "x", property: "false", enable: false },
  ],
  workflowCategory: { team: "data" },
};

describe("JSON", () => {
  test("a file of PowerJob loads unchanged, with its defaults", () => {
    const loaded = Workflow.fromJSON(powerJobFile);
    assert.deepEqual(loaded.toJSON(), powerJobFile);
    assert.equal(loaded.name, "unnamed");
    assert.equal(Workflow.fromJSON(powerJobFile, { name: "etl" }).name, "etl");

    const extract = loaded.task("extract");
    assert.equal(extract?.jobName, undefined);
    assert.equal(extract?.jobId, 101);
    assert.equal(extract?.params, "--full");
    assert.equal(extract?.timeoutSeconds, 3600);
    assert.equal(extract?.enabled, true);
    assert.equal(extract?.status, "Pending");
    assert.equal(loaded.task("decide")?.decision, "true");
    assert.equal(loaded.task("decide")?.jobId, undefined);
    assert.equal(loaded.task("extract#13")?.enabled, false);
    assert.equal(loaded.task("extract#13")?.skipWhenFailed, true);
    assert.deepEqual(loaded.task("extract#13")?.dependencies, [{ name: "decide", when: "true" }]);
    assert.equal(loaded.task("x")?.nestedWorkflow, "7");
    assert.deepEqual(names(loaded, "extract#13"), ["decide"]);
    assert.deepEqual(names(loaded, "x"), []);
  });

  test("a file that brings no ids has the same ones each time", () => {
    const [first, second] = [Workflow.fromJSON(powerJobFile), Workflow.fromJSON(powerJobFile)];
    assert.deepEqual([...first.tasks.keys()], [...second.tasks.keys()]);
    assert.equal(first.tasks.size, 4);
    for (const id of first.tasks.keys())
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("what a builder made comes back with nothing lost", () => {
    const made = workflow(
      task("a"),
      task("b", "a").withRetryPolicy({ jitter: 0.5 }).withDomain("d"),
      task("c", "a", "b"),
    );
    const text = JSON.stringify(made);
    const back = Workflow.fromJSON(JSON.parse(text));
    assert.equal(JSON.stringify(back), text);
    assert.equal(back.id, made.id);
    assert.equal(back.version, made.version);
    assert.deepEqual([...back.tasks.keys()], [...made.tasks.keys()]);
    assert.deepEqual([...back.dependencies], [...made.dependencies]);
    assert.deepEqual(back.task("c")?.dependencies, made.task("c")?.dependencies);
    assert.deepEqual(back.task("b")?.params, { of: "b" });
  });

  test("any dag-spec, with any further fields, comes back as it was", () => {
    const fields = fc.dictionary(
      fc.string().map((key) => `x-${key}`),
      fc.jsonValue(),
      { maxKeys: 3 },
    );
    const specs = fc
      .tuple(
        fc.uniqueArray(fc.oneof(fc.nat(), fc.string({ minLength: 1 })), {
          minLength: 1,
          maxLength: 8,
          selector: String,
        }),
        fields,
      )
      .chain(([nodeIds, more]) =>
        fc.record({
          nodes: fc.tuple(...nodeIds.map((nodeId) => fields.map((own) => ({ nodeId, ...own })))),
          edges: fc
            .subarray(forwardEdges(nodeIds))
            .chain((edges) => fc.tuple(...edges.map((edge) => fields.map((own) => ({ ...edge, ...own }))))),
          more: fc.constant(more),
        }),
      )
      .map(({ nodes, edges, more }) => JSON.parse(JSON.stringify({ ...more, nodes, edges })) as DagSpec);
    fc.assert(
      fc.property(specs, (spec) => {
        const loaded = Workflow.fromJSON(spec);
        assert.deepEqual(loaded.toJSON(), spec);
        assert.equal(Workflow.fromJSON(loaded.toJSON()).version, loaded.version);
        assert.equal(loaded.tasks.size, spec.nodes.length);
      }),
    );
  });

  test("params given as an object are written as its JSON", () => {
    const loaded = Workflow.fromJSON({ nodes: [{ nodeId: 1, nodeParams: { table: "t" } }] });
    assert.equal(loaded.toJSON().nodes[0]?.nodeParams, '{"table":"t"}');
    assert.deepEqual(loaded.task("1")?.params, { table: "t" });
  });

  test("node types may be words, as TIS writes them", () => {
    const loaded = Workflow.fromJSON({
      nodes: [
        { nodeId: 1, nodeType: "TASK", status: "WAITING" },
        { nodeId: 2, nodeType: "CONTROL", nodeParams: "true" },
        { nodeId: 3, nodeType: "NESTED_WORKFLOW", jobId: 5 },
      ],
    });
    assert.deepEqual(
      [...loaded.tasks.values()].map(({ kind }) => kind),
      ["job", "decision", "nested"],
    );
    assert.throws(() => Workflow.fromJSON({ nodes: [{ nodeId: 1, nodeType: "OTHER" }] }), { code: "WORKFLOW_INVALID" });
  });

  test("names stay unique even where a file has taken the name they would get", () => {
    const nodes = [
      { nodeId: 9, nodeName: "a#2" },
      { nodeId: 1, nodeName: "a" },
      { nodeId: 2, nodeName: "a" },
    ];
    assert.deepEqual(
      [...Workflow.fromJSON({ nodes }).tasks.values()].map(({ name }) => name),
      ["a#2", "a", "a#2#2"],
    );
  });

  test("the JSON and what it was read from are copies", () => {
    const spec = structuredClone(powerJobFile);
    const loaded = Workflow.fromJSON(spec);
    spec.workflowCategory.team = "other";
    loaded.toJSON().nodes.pop();
    assert.deepEqual(loaded.toJSON(), powerJobFile);
  });

  test("what is no definition is refused", () => {
    const refuse = (spec: unknown, code: string, message: RegExp) =>
      assert.throws(() => Workflow.fromJSON(spec), { code, message });
    for (const wrong of [undefined, null, 7, "{}", []])
      refuse(wrong, "WORKFLOW_INVALID", /read from an object with nodes and edges/);
    refuse({}, "WORKFLOW_INVALID", /nodes/);
    refuse({ nodes: [] }, "WORKFLOW_EMPTY", /no tasks/);
    refuse({ nodes: [null] }, "WORKFLOW_INVALID", /nodes\[0\]/);
    refuse({ nodes: [{ nodeId: 1 }, { nodeId: 1 }] }, "WORKFLOW_INVALID", /nodeId/);
    refuse({ nodes: [{ nodeId: 1 }], edges: [{ from: 1, to: 2 }] }, "WORKFLOW_INVALID", /no node 2/);
    refuse({ nodes: [{ nodeId: 1 }], edges: [{ from: 1, to: 1 }] }, "DEPENDENCY_SELF", /itself/);
    refuse(
      {
        nodes: [
          { nodeId: 1, taskId: "t" },
          { nodeId: 2, taskId: "t" },
        ],
      },
      "WORKFLOW_INVALID",
      /two nodes have the taskId "t"/,
    );
    const circle = {
      nodes: [{ nodeId: 1 }, { nodeId: 2 }],
      edges: [
        { from: 1, to: 2 },
        { from: 2, to: 1 },
      ],
    };
    refuse(circle, "WORKFLOW_CYCLE", /1 → 2 → 1/);
  });
});

describe("version", () => {
  test("equal content has an equal version, whatever ids, run-time fields and order of keys", () => {
    const made = workflow(task("a"), task("b", "a"));
    assert.match(made.version, /^[0-9a-f]{32}$/);
    assert.equal(workflow(task("a"), task("b", "a")).version, made.version);

    const spec = made.toJSON();
    const nodes = spec.nodes.map((node) => ({
      status: 5,
      result: "x",
      ...Object.fromEntries(Object.entries(node).toReversed()),
      taskId: `t${node.nodeId}`,
    }));
    assert.equal(Workflow.fromJSON({ ...spec, id: "other", nodes }).version, made.version);
  });

  test("other content has another version", () => {
    const versions = [
      workflow(task("a"), task("b")),
      workflow(task("b"), task("a")),
      workflow(task("a"), task("b", "a")),
      workflow(task("a"), task("b").withTimeout(31)),
    ].map(({ version }) => version);
    assert.equal(new Set(versions).size, versions.length);
  });

  test("edits show, also those inside a nested workflow", () => {
    const inner = workflow(task("x"));
    const outer = new WorkflowBuilder()
      .withName("outer")
      .withTask(new TaskBuilder("n").withNestedWorkflow(inner))
      .build();
    const seen = [outer.version];
    inner.task("x")?.updateParams({ n: 1 });
    seen.push(outer.version);
    inner.addSubTask(task("y").build(), "x");
    seen.push(outer.version);
    assert.equal(new Set(seen).size, 3);
    assert.equal(outer.version, seen[2]);
  });
});

describe("addSubTask", () => {
  test("a sub-task waits for its parent, and everything downstream waits for it", () => {
    const nightly = workflow(task("a"), task("b", "a"), task("c", "a", "b"), task("other"));
    nightly.addSubTask(task("s1").build(), "a");
    assert.deepEqual(names(nightly, "s1"), ["a"]);
    assert.deepEqual(names(nightly, "b"), ["a", "s1"]);
    assert.deepEqual(names(nightly, "c"), ["a", "b", "s1"]);
    assert.deepEqual(names(nightly, "other"), []);
    nightly.validate();
  });

  test("sub-tasks of one parent run beside each other; their own sub-tasks come after them", () => {
    const nightly = workflow(task("a"), task("b", "a"));
    for (const name of ["s1", "s2"]) nightly.addSubTask(task(name).build(), "a");
    nightly.addSubTask(task("s1.1").build(), "s1");
    assert.deepEqual(names(nightly, "s2"), ["a"]);
    assert.deepEqual(names(nightly, "s1.1"), ["s1"]);
    assert.deepEqual(names(nightly, "b"), ["a", "s1", "s2", "s1.1"]);
  });

  test("it may wait for further tasks", () => {
    const nightly = workflow(task("a"), task("b", "a"), task("other"));
    nightly.addSubTask(task("s", "other", "a").build(), "a");
    assert.deepEqual(names(nightly, "s"), ["a", "other"]);
    nightly.addSubTask(task("t").build(), "other");
    assert.deepEqual(names(nightly, "s"), ["a", "other", "t"]);
  });

  test("it becomes a node with a number of its own", () => {
    const loaded = Workflow.fromJSON({ nodes: [{ nodeId: 41 }, { nodeId: "x" }, { nodeId: "7" }] });
    loaded.addSubTask(task("s").build(), "x");
    const spec = loaded.toJSON();
    assert.equal(spec.nodes.at(-1)?.nodeId, 42);
    assert.deepEqual(spec.edges, [{ from: "x", to: 42 }]);
  });

  test("what does not fit is refused and changes nothing", () => {
    const decide = new TaskBuilder("decide").withDecision("true").withDependency("a");
    const nightly = workflow(task("a"), task("b", "a"), decide);
    const before = JSON.stringify(nightly);
    const refuse = (sub: TaskBuilder, parent: string, code: string, message: RegExp) =>
      assert.throws(() => nightly.addSubTask(sub.build(), parent), { code, message });
    refuse(task("s"), "nobody", "TASK_UNKNOWN", /"s" cannot be a sub-task of "nobody", which does not exist/);
    refuse(task("b"), "a", "TASK_DUPLICATE", /already a task "b"/);
    refuse(task("s", "bb"), "a", "DEPENDENCY_UNKNOWN", /"s" depends on "bb".*mean "b"\?/);
    refuse(task("s", "s"), "a", "DEPENDENCY_SELF", /"s" depends on itself/);
    refuse(task("s", "b"), "a", "WORKFLOW_CYCLE", /b → s → b/);
    refuse(task("s"), "decide", "SUBTASK_INVALID", /"decide" is a decision/);
    assert.throws(() => nightly.addSubTask(nightly.task("a")!, "b"), { code: "TASK_DUPLICATE" });
    assert.equal(JSON.stringify(nightly), before);
  });

  test("a workflow never comes to contain itself", () => {
    const inner = workflow(task("x"));
    const outer = new WorkflowBuilder()
      .withName("outer")
      .withTask(new TaskBuilder("n").withNestedWorkflow(inner))
      .build();
    const circle = { code: "NESTING_TOO_DEEP", message: /would make the workflow contain itself/ };
    assert.throws(() => inner.addSubTask(new TaskBuilder("s").withNestedWorkflow(inner).build(), "x"), circle);
    assert.throws(() => inner.addSubTask(new TaskBuilder("s").withNestedWorkflow(outer).build(), "x"), circle);
  });
});

test("a large workflow with a wide join builds", () => {
  const builder = new WorkflowBuilder().withName("large");
  for (let i = 0; i < 20_000; i++) builder.withTask(i === 0 ? task("t0") : task(`t${i}`, "t0", `t${i - 1}`));
  builder.withTask(task("end").withDependencies(Array.from({ length: 20_000 }, (_, i) => `t${i}`)));
  const large = builder.build();
  assert.equal(names(large, "end").length, 20_000);
  assert.match(large.version, /^[0-9a-f]{32}$/);

  test("a nested workflow that was built travels with its parent, at any depth, and nothing is lost there and back", () => {
    const leaf = new WorkflowBuilder().withName("leaf").withTask(new TaskBuilder("x").withJobFunction("j")).build();
    const middle = new WorkflowBuilder()
      .withName("middle")
      .withTask(new TaskBuilder("l").withNestedWorkflow(leaf))
      .withTask(new TaskBuilder("by-name").withNestedWorkflow("elsewhere"))
      .build();
    const top = new WorkflowBuilder().withName("top").withTask(new TaskBuilder("m").withNestedWorkflow(middle)).build();
    const read = Workflow.fromJSON(JSON.parse(JSON.stringify(top)));
    assert.deepEqual(read.toJSON(), top.toJSON());
    assert.equal(read.version, top.version);
    const nested = read.task("m")?.nestedWorkflow;
    assert.ok(nested instanceof Workflow);
    assert.equal(nested.version, middle.version);
    assert.equal(nested.task("by-name")?.nestedWorkflow, "elsewhere");
  });

  test("a field called workflow that is no nested definition stays as it is", () => {
    const spec = { name: "w", nodes: [{ nodeId: 1, nodeName: "a", jobName: "j", workflow: "x" }], edges: [] };
    assert.equal((Workflow.fromJSON(spec).toJSON().nodes[0] as { workflow?: unknown }).workflow, "x");
  });

  test("definitions that are nested too deeply are refused", () => {
    let spec: object = { nodes: [{ nodeId: 1, nodeName: "a", jobName: "j" }] };
    for (let level = 0; level < 200; level++)
      spec = { nodes: [{ nodeId: 1, nodeName: "a", nodeType: 3, workflowName: "w", workflow: spec }] };
    assert.throws(() => Workflow.fromJSON(spec), { code: "NESTING_TOO_DEEP" });
  });
});

function forwardEdges(nodeIds: readonly (number | string)[]): { from: number | string; to: number | string }[] {
  return nodeIds.flatMap((from, i) => nodeIds.slice(i + 1).map((to) => ({ from, to })));
}
