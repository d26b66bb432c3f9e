/**
 * Whole runs against PowerJob's behaviour. tests/cases/workflow-cases.json holds runs that were worked out from its
 * source; each goes as the file says, or as `deviations` says instead. Further runs of the same kind follow.
 *
 * What differs everywhere, and is therefore not in the table:
 * - `wf.result` is not compared. PowerJob keeps the last node's result or one of a few texts; an instance of ours keeps the
 *   outputs of all its tasks by name, and a reason that names the task that failed.
 * - An error is compared by what it means (`meanings`), not by its text.
 * - Nodes that are handed out together are compared as a set: ours come in the order of their priority.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { unreachable } from "../src/base/assert.ts";
import { EngineError, type ErrorCode } from "../src/base/error.ts";
import { DagRig, decision, nested, specOf } from "../src/kernel/dag/dag.rig.ts";
import { failureOf } from "../src/kernel/machine.rig.ts";
import type { DagSpec } from "../src/kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../src/kernel/node-spec.ts";
import { isInFlight, statusOf } from "../src/kernel/task-state.ts";
import type { DagInput } from "../src/kernel/dag/dag-input.ts";
import { instanceCode, nodeCode } from "../src/powerjob/codes.ts";
import type { EndStatus } from "../src/kernel/status.ts";
import { WorkflowGates } from "../src/runtime/workflow-gate.ts";

interface Case {
  readonly name: string;
  readonly dag: DagSpec;
  readonly decisions?: Readonly<Record<string, unknown>>;
  readonly maxWfInstanceNum?: number;
  readonly otherActiveInstances?: number;
  readonly steps: readonly Step[];
}

interface Step {
  readonly do: "start" | "complete" | "markSuccess" | "skip" | "retry" | "rerun" | "stop";
  readonly nodeId?: number;
  /** Of `complete`: PowerJob's code; `late` repeats the report of the generation before. */
  readonly status?: number;
  readonly result?: string;
  readonly late?: true;
  readonly expect: Expected;
}

interface Expected {
  readonly error?: string;
  readonly dispatch?: readonly number[];
  readonly wf: { readonly status: number };
  readonly nodes?: Readonly<Record<string, number>>;
}

/** PowerJob's refusals, and ours. */
const meanings: Readonly<Record<string, ErrorCode>> = {
  "you can't mark the node in a running workflow!": "INSTANCE_STATE",
  "you can only mark the node which is failed and not allow to skip!": "TASK_STATE",
  "can't find the node in current DAG!": "TASK_UNKNOWN",
  "workflow instance is running": "INSTANCE_STATE",
  "workflow instance is already successful": "INSTANCE_STATE",
  "workflow instance already stopped": "INSTANCE_STATE",
  "decision node's return value is illegal!": "DECISION_INVALID",
};

interface Deviation {
  readonly step: number;
  readonly expect: Expected;
  readonly why: string;
}

const running = { status: 2 };
const failed = { status: 3 };
const succeeded = { status: 4 };
const stopped = { status: 10 };

const stillRunning = "finish-running: a failed instance is Failed when what runs has finished, not before";
const goesOn = "marking the failed node is enough: the instance goes on by itself";

/** Where a run goes otherwise than the file says. */
const deviations: Readonly<Record<string, readonly Deviation[]>> = {
  "retry when nothing is ready but a sibling still runs": [
    { step: 1, expect: { dispatch: [], wf: running }, why: stillRunning },
    {
      step: 2,
      expect: { error: "you can't mark the node in a running workflow!", wf: running },
      why: "node 2 runs, so the instance has not ended and nothing in it can be marked",
    },
    {
      step: 3,
      expect: { error: "workflow instance is running", wf: running, nodes: { 1: 4, 2: 3 } },
      why: "recommended: stay running and wait for node 2; the original calls it a success",
    },
  ],
  "fail fast: a parallel branch is not continued, a late success only updates the graph": [
    { step: 1, expect: { dispatch: [], wf: running, nodes: { 1: 4, 2: 3, 3: 1 } }, why: stillRunning },
    {
      step: 2,
      expect: { dispatch: [], wf: failed, nodes: { 1: 4, 2: 5, 3: 9 } },
      why: "what an ended instance never ran is canceled; the original leaves it waiting for ever",
    },
  ],
  "mark the failed node as success, then retry": [
    { step: 5, expect: { dispatch: [2], wf: running, nodes: { 1: 5, 2: 3 } }, why: goesOn },
    { step: 6, expect: { error: "workflow instance is running", wf: running }, why: goesOn },
  ],
};

/** PowerJob's view of one of our instances. */
class PowerJobRun {
  readonly #case: Case;
  readonly #rig: DagRig;
  /** Of each node, the report that it last waited for. */
  readonly #reports = new Map<number, { task: number; attempt: number; generation: number }>();

  constructor(of: Case) {
    this.#case = of;
    this.#rig = new DagRig(of.dag);
  }

  take(step: Step): Expected {
    let dispatch: number[] = [];
    try {
      dispatch = this.#tell(this.#inputOf(step));
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return { error: error.code, ...this.#standing() };
    }
    return { dispatch: dispatch.sort((a, b) => a - b), ...this.#standing() };
  }

  #standing(): Pick<Expected, "wf" | "nodes"> {
    const { state } = this.#rig.machine;
    const nodes: Record<string, number> = {};
    for (const [task, { nodeId }] of this.#case.dag.nodes.entries()) {
      const phase = state.phase(task);
      nodes[nodeId] = nodeCode(statusOf(phase), isInFlight(phase));
    }
    return { wf: { status: instanceCode(state.status) }, nodes };
  }

  #inputOf(step: Step): DagInput {
    switch (step.do) {
      case "start":
        return this.#start();
      case "complete":
        return this.#completion(step);
      case "markSuccess":
        return { type: "SucceedTask", task: this.#task(step), ...(step.result && { output: step.result }) };
      case "skip":
        return { type: "SkipTask", task: this.#task(step) };
      case "rerun":
        return { type: "RerunInstance", task: this.#task(step) };
      case "retry":
        return { type: "RetryInstance" };
      case "stop":
        return { type: "TerminateInstance", reason: "stopped by user" };
      default:
        return unreachable(step.do, "what a step does");
    }
  }

  #start(): DagInput {
    const { maxWfInstanceNum: max = 0, otherActiveInstances = 0 } = this.#case;
    const others = Array.from({ length: otherActiveInstances }, (_, other) => ({ id: `o${other}`, isWaiting: false }));
    const gates = new WorkflowGates({ unfinished: () => others, admit: () => assert.fail("nobody leaves") });
    const admission = gates.enter("w", "i", { max, policy: "fail" });
    const settings = { context: {}, maxConcurrentTasks: 1000, trigger: "api", admission } as const;
    return { type: "StartInstance", workflow: "w", version: "1", generation: 1, ...settings };
  }

  #completion(step: Step): DagInput {
    const task = this.#task(step);
    const report = step.late ? this.#reports.get(task)! : this.#rig.report(this.#rig.nameOf(task));
    const failure = failureOf(step.result ?? "boom");
    const output = JSON.stringify(step.result ?? null);
    if (this.#rig.machine.state.definition(task).kind === "nested") {
      const status = ({ 4: "Failed", 5: "Success", 10: "Terminated" } as Record<number, EndStatus>)[step.status!]!;
      return { type: "ChildEnded", ...report, status, output };
    }
    const outcome =
      step.status === 5 ? ({ kind: "success", output } as const) : ({ kind: "failure", failure } as const);
    return { type: "AttemptEnded", ...report, outcome };
  }

  #task({ nodeId }: Step): number {
    const task = this.#case.dag.nodes.findIndex((node) => node.nodeId === nodeId);
    if (task < 0) throw new EngineError("TASK_UNKNOWN", `no node ${nodeId}`);
    return task;
  }

  /** Decisions are settled at once and jobs start at once, as PowerJob has it. */
  #tell(input: DagInput): number[] {
    const { machine } = this.#rig.tell(input);
    const { commands, handedOut } = this.#rig;
    const dispatched = handedOut.map((name) => machine.state.definition(this.#rig.task(name)).nodeId as number);
    for (const name of handedOut) {
      const report = this.#rig.report(name);
      this.#reports.set(report.task, report);
      if (machine.state.definition(report.task).kind === "job") this.#rig.begin(name);
    }
    const decisions = commands.flatMap((command) => (command.type === "EvaluateDecision" ? [command] : []));
    for (const { task, attempt } of decisions) {
      const given = this.#case.decisions?.[String(machine.state.definition(task).nodeId)];
      const value =
        given instanceof Error ? { failure: failureOf(given.message, { retryable: false }) } : { ok: given };
      dispatched.push(...this.#tell({ type: "DecisionEvaluated", task, attempt, value }));
    }
    return dispatched;
  }
}

function run(of: Case, instead: readonly Deviation[] = []): void {
  const run = new PowerJobRun(of);
  for (const [place, step] of of.steps.entries()) {
    const { error, dispatch, wf, nodes } = instead.find((deviation) => deviation.step === place)?.expect ?? step.expect;
    const actual = run.take(step);
    const told = `step ${place} (${step.do} ${step.nodeId ?? ""})`;
    assert.equal(actual.error, error && meanings[error], `${told}: refused`);
    if (dispatch !== undefined) assert.deepEqual(actual.dispatch, dispatch, `${told}: handed out`);
    assert.equal(actual.wf.status, wf.status, `${told}: status of the instance`);
    const seen = Object.fromEntries(Object.keys(nodes ?? {}).map((nodeId) => [nodeId, actual.nodes?.[nodeId]]));
    assert.deepEqual(seen, { ...nodes }, `${told}: status of the nodes`);
  }
}

describe("PowerJob's cases", () => {
  const path = join(import.meta.dirname, "cases/workflow-cases.json");
  const cases = JSON.parse(readFileSync(path, "utf8")) as readonly Case[];

  for (const of of cases) {
    const instead = deviations[of.name] ?? [];
    test(instead.length === 0 ? of.name : `${of.name} (otherwise: ${instead[0]?.why})`, () => run(of, instead));
  }

  test("every deviation belongs to a case", () => {
    const names = cases.map(({ name }) => name);
    for (const name of Object.keys(deviations)) assert.ok(names.includes(name), name);
  });
});

// Further runs of the same kind

type Nodes = Readonly<Record<string, Partial<NodeSpec>>>;

/** Nodes are called by their ids. */
function dag(text: string, nodes: Nodes = {}, settings: Omit<DagSpec, "nodes" | "edges"> = {}): DagSpec {
  const spec = specOf(text, { nodes, ...settings });
  for (const { nodeId, nodeName } of spec.nodes) assert.equal(String(nodeId), nodeName);
  return spec;
}

type Standing = Pick<Expected, "wf" | "nodes">;

function start(dispatch: readonly number[], wf: Standing["wf"] = running, nodes?: Standing["nodes"]): Step {
  return { do: "start", expect: { dispatch, wf, ...(nodes && { nodes }) } };
}

function complete(nodeId: number, status: 4 | 5 | 10, expect: Expected): Step {
  return { do: "complete", nodeId, status, expect };
}

function late(nodeId: number, status: 4 | 5 | 10, expect: Expected): Step {
  return { do: "complete", nodeId, status, late: true, expect };
}

const disabled = { enable: false };
const skippable = { skipWhenFailed: true };

const furtherCases: readonly Case[] = [
  {
    name: "too many instances: the start fails, nothing runs",
    maxWfInstanceNum: 1,
    otherActiveInstances: 1,
    dag: dag("1>2"),
    steps: [start([], failed, { 1: 9, 2: 9 })],
  },
  {
    name: "stop while running: what runs is stopped, what waits is canceled",
    dag: dag("1 2 1>3 2>3"),
    steps: [
      start([1, 2]),
      complete(1, 5, { dispatch: [], wf: running }),
      { do: "stop", expect: { dispatch: [], wf: stopped, nodes: { 1: 5, 2: 10, 3: 9 } } },
      { do: "stop", expect: { error: "workflow instance already stopped", wf: stopped } },
    ],
  },
  {
    name: "retry after a stop: the stopped and the canceled run, the successful do not",
    dag: dag("1 2 1>3 2>3"),
    steps: [
      start([1, 2]),
      complete(1, 5, { dispatch: [], wf: running }),
      { do: "stop", expect: { dispatch: [], wf: stopped } },
      { do: "retry", expect: { dispatch: [2], wf: running, nodes: { 1: 5, 2: 3, 3: 1 } } },
      complete(2, 5, { dispatch: [3], wf: running }),
      complete(3, 5, { dispatch: [], wf: succeeded, nodes: { 1: 5, 2: 5, 3: 5 } }),
    ],
  },
  {
    name: "a late report of a stopped node changes nothing, neither before nor after the retry",
    dag: dag("1>2"),
    steps: [
      start([1]),
      { do: "stop", expect: { dispatch: [], wf: stopped, nodes: { 1: 10, 2: 9 } } },
      late(1, 5, { dispatch: [], wf: stopped, nodes: { 1: 10, 2: 9 } }),
      { do: "retry", expect: { dispatch: [1], wf: running } },
      complete(1, 5, { dispatch: [2], wf: running }),
      late(1, 4, { dispatch: [], wf: running, nodes: { 1: 5, 2: 3 } }),
    ],
  },
  {
    name: "a failure that may be skipped: successors go on, the instance succeeds, and there is nothing to retry or mark",
    dag: dag("1>2>3", { 1: skippable }),
    steps: [
      start([1]),
      complete(1, 4, { dispatch: [2], wf: running, nodes: { 1: 4 } }),
      complete(2, 5, { dispatch: [3], wf: running }),
      complete(3, 5, { dispatch: [], wf: succeeded, nodes: { 1: 4, 2: 5, 3: 5 } }),
      { do: "retry", expect: { error: "workflow instance is already successful", wf: succeeded } },
      {
        do: "markSuccess",
        nodeId: 1,
        expect: { error: "you can only mark the node which is failed and not allow to skip!", wf: succeeded },
      },
    ],
  },
  {
    name: "a retry leaves a skipped failure as it is",
    dag: dag("1>2 3", { 1: skippable }),
    steps: [
      start([1, 3]),
      complete(1, 4, { dispatch: [2], wf: running }),
      complete(2, 4, { dispatch: [], wf: running }),
      complete(3, 5, { dispatch: [], wf: failed, nodes: { 1: 4, 2: 4, 3: 5 } }),
      { do: "retry", expect: { dispatch: [2], wf: running, nodes: { 1: 4, 2: 3, 3: 5 } } },
      complete(2, 5, { dispatch: [], wf: succeeded, nodes: { 1: 4, 2: 5, 3: 5 } }),
    ],
  },
  {
    name: "a chain of disabled nodes is passed over when its own predecessor has finished, not before",
    dag: dag("1>2>3>4", { 2: disabled, 3: disabled }),
    steps: [
      start([1], running, { 1: 3, 2: 1, 3: 1, 4: 1 }),
      complete(1, 5, { dispatch: [4], wf: running, nodes: { 1: 5, 2: 5, 3: 5, 4: 3 } }),
      complete(4, 5, { dispatch: [], wf: succeeded }),
    ],
  },
  {
    name: "only disabled nodes: succeeded at once",
    dag: dag("1>2 1>3", { 1: disabled, 2: disabled, 3: disabled }),
    steps: [start([], succeeded, { 1: 5, 2: 5, 3: 5 })],
  },
  {
    name: "only disabled nodes and decisions: succeeded at once",
    dag: dag("1>2:true 1>3:false 2>4", { 1: decision, 2: disabled, 3: disabled, 4: disabled }),
    decisions: { 1: true },
    steps: [start([], succeeded, { 1: 5, 2: 5, 3: 9, 4: 5 })],
  },
  {
    name: "disabled nodes at the end: the last finished node ends the instance",
    dag: dag("1>2>3", { 2: disabled, 3: disabled }),
    steps: [start([1]), complete(1, 5, { dispatch: [], wf: succeeded, nodes: { 1: 5, 2: 5, 3: 5 } })],
  },
  {
    name: "a nested workflow that fails takes its parent along; the retry goes on in the same child",
    dag: dag("1>2", { 1: nested }),
    steps: [
      start([1], running, { 1: 3 }),
      complete(1, 4, { dispatch: [], wf: failed, nodes: { 1: 4, 2: 9 } }),
      { do: "retry", expect: { dispatch: [1], wf: running, nodes: { 1: 3, 2: 1 } } },
      complete(1, 5, { dispatch: [2], wf: running }),
      complete(2, 5, { dispatch: [], wf: succeeded }),
    ],
  },
  {
    name: "a nested workflow that was stopped fails its node: our instance is Failed where the original is STOPPED",
    dag: dag("1>2", { 1: nested }),
    steps: [start([1]), complete(1, 10, { dispatch: [], wf: failed, nodes: { 1: 4, 2: 9 } })],
  },
  {
    name: "stopping the parent stops the nested workflow's node; a late end of the child is dropped",
    dag: dag("1>2", { 1: nested }),
    steps: [
      start([1]),
      { do: "stop", expect: { dispatch: [], wf: stopped, nodes: { 1: 10, 2: 9 } } },
      late(1, 5, { dispatch: [], wf: stopped, nodes: { 1: 10, 2: 9 } }),
    ],
  },
  {
    name: "a decision whose evaluation fails ends the instance",
    dag: dag("1>2>3:true 2>4:false", { 2: decision }),
    decisions: { 2: new Error("no such key: x") },
    steps: [start([1]), complete(1, 5, { dispatch: [], wf: failed, nodes: { 1: 5, 2: 4, 3: 9, 4: 9 } })],
  },
  {
    name: "a decision with an illegal value fails; marked with a result, it takes that edge",
    dag: dag("1>2:true 1>3:false", { 1: decision }),
    decisions: { 1: null },
    steps: [
      start([], failed, { 1: 4, 2: 9, 3: 9 }),
      { do: "markSuccess", nodeId: 1, expect: { error: "decision node's return value is illegal!", wf: failed } },
      {
        do: "markSuccess",
        nodeId: 1,
        result: "false",
        expect: { dispatch: [3], wf: running, nodes: { 1: 5, 2: 9, 3: 3 } },
      },
      complete(3, 5, { dispatch: [], wf: succeeded }),
    ],
  },
  {
    name: "a failed decision is decided anew by a retry",
    dag: dag("1>2:true 1>3:false", { 1: decision }),
    decisions: { 1: new Error("blank") },
    steps: [start([], failed), { do: "retry", expect: { dispatch: [], wf: failed, nodes: { 1: 4, 2: 9, 3: 9 } } }],
  },
  {
    name: "a text chooses the edge of that name",
    dag: dag("1>2:eu 1>3:us 1>4:default", { 1: decision }),
    decisions: { 1: "us" },
    steps: [start([3], running, { 1: 5, 2: 9, 3: 3, 4: 9 })],
  },
  {
    name: "a text that no edge has takes the default",
    dag: dag("1>2:eu 1>3:us 1>4:default", { 1: decision }),
    decisions: { 1: "cn" },
    steps: [start([4], running, { 2: 9, 3: 9, 4: 3 })],
  },
  {
    name: "a text that no edge has, without a default, fails the decision",
    dag: dag("1>2:eu 1>3:us", { 1: decision }),
    decisions: { 1: "cn" },
    steps: [start([], failed, { 1: 4, 2: 9, 3: 9 })],
  },
  {
    name: "a number chooses among numbered edges, and above zero is true among true and false",
    dag: dag("1>2:1 1>3:2 1>4:default 4>5:true 4>6:false", { 1: decision, 4: decision }),
    decisions: { 1: 7, 4: 0.5 },
    steps: [start([5], running, { 2: 9, 3: 9, 4: 5, 5: 3, 6: 9 })],
  },
  {
    name: "two decisions into a join: it runs while one arm is alive, and dies with the last",
    dag: dag("1 2 3 1>4:true 1>3:false 2>4:true 2>3:false 3>5 4>5", { 1: decision, 2: decision }),
    decisions: { 1: true, 2: true },
    steps: [
      start([4], running, { 1: 5, 2: 5, 3: 9, 4: 3, 5: 1 }),
      complete(4, 5, { dispatch: [5], wf: running }),
      complete(5, 5, { dispatch: [], wf: succeeded }),
    ],
  },
  {
    name: "a join waits only for its live arm",
    dag: dag("1>2:true 1>3:false 2>4 3>4", { 1: decision }),
    decisions: { 1: false },
    steps: [
      start([3], running, { 2: 9, 3: 3, 4: 1 }),
      complete(3, 5, { dispatch: [4], wf: running }),
      complete(4, 5, { dispatch: [], wf: succeeded, nodes: { 1: 5, 2: 9, 3: 5, 4: 5 } }),
    ],
  },
  {
    name: "a retry starts every node that is ready, not only the failed one",
    dag: dag("1 2 2>3 2>4"),
    steps: [
      start([1, 2]),
      complete(1, 4, { dispatch: [], wf: running, nodes: { 1: 4, 2: 3 } }),
      complete(2, 5, { dispatch: [], wf: failed, nodes: { 2: 5, 3: 9, 4: 9 } }),
      { do: "retry", expect: { dispatch: [1, 3, 4], wf: running, nodes: { 1: 3, 2: 5, 3: 3, 4: 3 } } },
    ],
  },
  {
    name: "a retry while the instance runs is refused",
    dag: dag("1"),
    steps: [start([1]), { do: "retry", expect: { error: "workflow instance is running", wf: running } }],
  },
  {
    name: "late reports after the end change nothing",
    dag: dag("1>2"),
    steps: [
      start([1]),
      complete(1, 5, { dispatch: [2], wf: running }),
      complete(2, 5, { dispatch: [], wf: succeeded }),
      late(1, 4, { dispatch: [], wf: succeeded, nodes: { 1: 5, 2: 5 } }),
      late(2, 4, { dispatch: [], wf: succeeded, nodes: { 1: 5, 2: 5 } }),
    ],
  },
  {
    name: "a failed node that is skipped by a user lets its successors go on",
    dag: dag("1>2"),
    steps: [
      start([1]),
      complete(1, 4, { dispatch: [], wf: failed, nodes: { 1: 4, 2: 9 } }),
      { do: "skip", nodeId: 1, expect: { dispatch: [2], wf: running, nodes: { 1: 5, 2: 3 } } },
      complete(2, 5, { dispatch: [], wf: succeeded }),
    ],
  },
  {
    name: "of two failed nodes one is marked: what only it held up runs, and the instance fails again",
    dag: dag("1 2 1>3 1>4 2>4", {}, { failurePolicy: "continue" }),
    steps: [
      start([1, 2]),
      complete(1, 4, { dispatch: [], wf: running }),
      complete(2, 4, { dispatch: [], wf: failed, nodes: { 1: 4, 2: 4, 3: 9, 4: 9 } }),
      { do: "markSuccess", nodeId: 1, expect: { dispatch: [3], wf: running, nodes: { 1: 5, 2: 4, 3: 3, 4: 9 } } },
      complete(3, 5, { dispatch: [], wf: failed, nodes: { 3: 5, 4: 9 } }),
      { do: "retry", expect: { dispatch: [2], wf: running, nodes: { 1: 5, 2: 3, 3: 5, 4: 1 } } },
    ],
  },
  {
    name: "a re-run from a node runs it and all that comes after it again",
    dag: dag("1>2>3 1>4"),
    steps: [
      start([1]),
      complete(1, 5, { dispatch: [2, 4], wf: running }),
      complete(2, 5, { dispatch: [3], wf: running }),
      complete(4, 5, { dispatch: [], wf: running }),
      complete(3, 5, { dispatch: [], wf: succeeded }),
      { do: "rerun", nodeId: 2, expect: { dispatch: [2], wf: running, nodes: { 1: 5, 2: 3, 3: 1, 4: 5 } } },
    ],
  },
  {
    name: "an edge that is disabled in the definition is off from the start",
    dag: dag("1>!2 1>3 2>4 3>4"),
    steps: [
      start([1], running, { 1: 3, 2: 9, 3: 1, 4: 1 }),
      complete(1, 5, { dispatch: [3], wf: running }),
      complete(3, 5, { dispatch: [4], wf: running, nodes: { 2: 9, 4: 3 } }),
    ],
  },
  {
    name: "two edges between the same nodes count as one dependency",
    dag: dag("1>2 1>2"),
    steps: [
      start([1]),
      complete(1, 5, { dispatch: [2], wf: running }),
      complete(2, 5, { dispatch: [], wf: succeeded }),
    ],
  },
];

describe("further cases", () => {
  for (const of of furtherCases) test(of.name, () => run(of));
});
