import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DagInput } from "./dag-input.ts";
import { payloadBytesMax } from "../payload.ts";
import { DagRig, decision, nested } from "./dag.rig.ts";
import { failureOf } from "../machine.rig.ts";

const large = { ref: 1, bytes: payloadBytesMax + 1 };

describe("a start", () => {
  test("is written down once", () => {
    const rig = DagRig.started("a").begin("a", "w1");
    assert.deepEqual(rig.events, [{ type: "TaskStarted", task: 0, attempt: 1, worker: "w1", startedAt: 1000 }]);
    assert.deepEqual([rig.begin("a", "w2").events, rig.dropped], [[], 0]);
    assert.equal(rig.machine.state.record(0)?.worker, "w1");
  });
});

describe("a success", () => {
  test("is one event, with what the attempt gave and who ran it", () => {
    const rig = DagRig.started("a>b");
    const outcome = { kind: "success", output: "1", patch: { x: "2" } } as const;
    rig.tell({ type: "AttemptEnded", ...rig.report("a"), outcome, worker: "w1", startedAt: 900 });
    assert.deepEqual(rig.events, [
      { type: "TaskSucceeded", task: 0, attempt: 1, worker: "w1", startedAt: 900, output: "1", patch: { x: "2" } },
      { type: "TasksScheduled", tasks: [1] },
    ]);
    assert.deepEqual([...rig.machine.state.context.entries], [["x", "2"]]);
  });

  test("with an output over the limit is a failure, for good", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 3 } } }).succeed("a", { output: large });
    const failure = rig.machine.state.record(0)?.failure;
    assert.deepEqual([rig.status, failure?.type, failure?.retryable], ["Failed", "OUTPUT_TOO_LARGE", false]);
    assert.match(failure?.message ?? "", /^the output of task "a" takes 10485761 bytes/);
  });

  test("with a patch that makes the context too large is a failure, and the context stays as it was", () => {
    const rig = DagRig.started("a").tell({ type: "UpdateContext", patch: { x: "1" } });
    rig.succeed("a", { output: "1", patch: { x: "2", y: { ref: 1, bytes: payloadBytesMax } } });
    assert.deepEqual([rig.status, rig.machine.state.record(0)?.failure?.type], ["Failed", "CONTEXT_TOO_LARGE"]);
    assert.deepEqual([...rig.machine.state.context.entries], [["x", "1"]]);
  });

  test("with sub-tasks that are refused is a failure, and none of them joins", () => {
    const subTasks = ["x", "y", "x"].map((nodeName) => ({ nodeId: 0, nodeName }));
    const rig = DagRig.started("a").succeed("a", { subTasks });
    assert.deepEqual([rig.tasks, rig.machine.state.record(0)?.failure?.type], ["a Failed", "SUBTASK_INVALID"]);
  });

  test("that runs into a bug of ours is not taken for a failure of the task", () => {
    const rig = DagRig.started("a");
    assert.throws(() => rig.succeed("a", { subTasks: [undefined as never] }), TypeError);
  });
});

describe("a failure", () => {
  test("is tried again after 1 s, 2 s …, with a new attempt each, then is final", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 2 } } }).fail("a");
    assert.deepEqual(rig.events, [
      { type: "TaskFailed", task: 0, attempt: 1, failure: failureOf("no"), retryAt: 2000 },
    ]);
    assert.deepEqual([rig.status, rig.statusOf("a")], ["Running", "Pending"]);
    assert.deepEqual(rig.pass(999).events, []);
    assert.deepEqual([rig.pass(1).handedOut, rig.events[0]], [["a"], { type: "RetriesDue", tasks: [0] }]);
    rig.fail("a");
    assert.equal(rig.machine.state.record(0)?.retryAt, 4000);
    assert.deepEqual(rig.pass(2000).handedOut, ["a"]);
    assert.equal(rig.machine.state.attempt(0), 3);
    rig.fail("a", failureOf("still no"));
    assert.deepEqual([rig.status, rig.machine.state.reason], ["Failed", `task "a" failed: still no`]);
  });

  test("waits longer by chance where the policy says so", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 1, retryPolicy: { jitter: 0.5 } } } });
    rig.random = 0.5;
    assert.equal(rig.fail("a").machine.nextWake(), 1000 + 1250);
  });

  test("is final at once if it says so, or its type is listed", () => {
    const nodes = { a: { retryCount: 5, retryPolicy: { nonRetryable: ["Fatal"] } } };
    assert.equal(DagRig.started("a", { nodes }).fail("a", failureOf("x", { type: "Fatal" })).status, "Failed");
    assert.equal(DagRig.started("a", { nodes }).fail("a", failureOf("x", { retryable: false })).status, "Failed");
  });

  test("by timeout has a status of its own", () => {
    const rig = DagRig.started("a").complete("a", { kind: "timeout", failure: failureOf("too slow") });
    assert.deepEqual([rig.status, rig.tasks], ["Failed", "a TimeoutFailed"]);
  });

  test("that may be skipped lets successors go on, and the instance succeed", () => {
    const rig = DagRig.started("a>b", { nodes: { a: { skipWhenFailed: true } } }).fail("a");
    assert.deepEqual(rig.handedOut, ["b"]);
    rig.succeed("b");
    assert.deepEqual([rig.status, rig.tasks], ["Success", "a Failed, b Success"]);
  });
});

describe("after a failure that nobody may skip", () => {
  test("finish-running: nothing new starts, what has not started is taken back, what runs finishes", () => {
    const rig = DagRig.started("a>z b>c d e", { maxConcurrentTasks: 4 }).begin("b").begin("e").fail("a");
    assert.deepEqual(rig.commands, [{ type: "WithdrawTasks", attemptIds: [`i:1:${rig.task("d")}:1`] }]);
    assert.equal(rig.statusOf("z"), "Canceled");
    rig.withdraw("d").succeed("b");
    assert.deepEqual([rig.status, rig.handedOut], ["Running", []]);
    assert.deepEqual(rig.lose("e").handedOut, ["e"], "what was lost while it ran is still to finish");
    rig.succeed("e");
    assert.deepEqual([rig.status, rig.machine.state.reason], ["Failed", `task "a" failed: no`]);
    assert.equal(
      rig.tasks,
      "a Failed, z Canceled (upstream-failed), b Success, c Canceled (instance-ended), d Canceled (instance-ended), e Success",
    );
  });

  test("finish-running: a failure of what still ran is final, and what waited for its retry is not woken", () => {
    const nodes = { b: { retryCount: 3 }, c: { retryCount: 3 } };
    const rig = DagRig.started("a b c", { nodes }).fail("c").fail("a");
    assert.equal(rig.machine.nextWake(), undefined);
    assert.deepEqual(rig.pass(5000).events, []);
    rig.fail("b");
    assert.deepEqual(rig.commands, [], "what could be taken back was asked for by the first failure");
    assert.deepEqual([rig.status, rig.tasks], ["Failed", "a Failed, b Failed, c Canceled (instance-ended)"]);
    assert.equal(rig.machine.state.record(rig.task("c"))?.retryAt, undefined);
    assert.deepEqual(rig.retry().handedOut, ["a", "b", "c"]);
  });

  test("finish-running: waits for nested workflows too", () => {
    const rig = DagRig.started("a n", { nodes: { n: nested } }).fail("a");
    assert.equal(rig.status, "Running");
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success" });
    assert.deepEqual([rig.status, rig.tasks], ["Failed", "a Failed, n Success"]);
  });

  test("abort-running: what runs is told to stop, children too", () => {
    const rig = DagRig.started("a>z b n c>d", { failurePolicy: "abort-running", nodes: { n: nested } })
      .begin("b")
      .fail("a");
    const reason = `task "a" failed: no`;
    assert.deepEqual(rig.commands, [
      { type: "AbortTasks", attemptIds: [`i:1:${rig.task("b")}:1`, `i:1:${rig.task("c")}:1`] },
      { type: "TellChild", childId: "i/n", tell: { type: "TerminateInstance", reason } },
    ]);
    assert.deepEqual(
      [rig.status, rig.tasks],
      [
        "Failed",
        "a Failed, z Canceled (upstream-failed), b Stopped, n Stopped, c Stopped, d Canceled (instance-ended)",
      ],
    );
  });

  test("continue: only what depends on it is canceled, at once and through joins", () => {
    const rig = DagRig.started("a>b>j c>d>j", { failurePolicy: "continue" }).fail("a");
    assert.equal(
      rig.tasks,
      "a Failed, b Canceled (upstream-failed), j Canceled (upstream-failed), c Pending, d Pending",
    );
    assert.deepEqual(rig.succeed("c").handedOut, ["d"]);
    assert.equal(rig.succeed("d").status, "Failed");
  });

  test("continue: retries of other branches go on", () => {
    const rig = DagRig.started("a b", { failurePolicy: "continue", nodes: { b: { retryCount: 1 } } })
      .fail("a")
      .fail("b");
    assert.deepEqual(rig.pass(1000).handedOut, ["b"]);
  });

  test("continue: a dead branch is not canceled a second time", () => {
    const options = { failurePolicy: "continue", nodes: { d: decision } } as const;
    const rig = DagRig.started("d>x:true d>y:false x>j y>j a>j", options).decide("d", true).fail("a");
    assert.deepEqual([rig.statusOf("y"), rig.statusOf("j"), rig.statusOf("x")], ["Canceled", "Canceled", "Pending"]);
    assert.equal(rig.succeed("x").status, "Failed");
  });
});

describe("an attempt that was lost", () => {
  test("runs again as the same attempt, three times at most, and uses up no retry", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 2 } } });
    for (const time of [1, 2, 3]) {
      rig.begin("a").lose("a");
      assert.deepEqual([rig.handedOut, rig.machine.state.attempt(0)], [["a"], 1], `time ${time}`);
      assert.equal(rig.machine.state.record(0)?.startedAt, undefined);
    }
    rig.lose("a");
    assert.deepEqual(
      [rig.status, rig.machine.state.record(0)?.failure],
      [
        "Failed",
        { type: "TASK_LOST", message: "worker lost: the attempt was lost with its process 4 times", retryable: false },
      ],
    );
    assert.equal(rig.machine.state.record(0)?.retriesUsed, 0);
  });

  test("counts for its own attempt only", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 1 } } }, { interruptionsMax: 1 });
    rig.lose("a").fail("a").pass(1000).lose("a");
    assert.deepEqual([rig.status, rig.handedOut], ["Running", ["a"]]);
    assert.equal(rig.lose("a").status, "Failed");
  });

  test("waits while the instance pauses", () => {
    const rig = DagRig.started("a").begin("a").pause().lose("a");
    assert.deepEqual([rig.status, rig.handedOut], ["Paused", []]);
    assert.deepEqual(rig.resume().handedOut, ["a"]);
  });
});

describe("a withdrawal", () => {
  test("puts tasks back, each once, and drops what is not waited for", () => {
    const rig = DagRig.started("a b", { maxConcurrentTasks: 2 }).pause();
    const runs = [rig.report("a"), rig.report("b"), rig.report("a"), { task: 0, attempt: 9 }];
    rig.tell({ type: "AttemptsWithdrawn", runs });
    assert.deepEqual(rig.events, [{ type: "TasksWithdrawn", tasks: [0, 1] }, { type: "InstancePaused" }]);
    assert.equal(rig.dropped, 2);
  });

  test("that comes after the resume hands the task out again", () => {
    const rig = DagRig.started("a").pause().resume();
    assert.deepEqual(rig.withdraw("a").handedOut, ["a"]);
    assert.equal(rig.machine.state.attempt(0), 1);
  });
});

describe("a decision", () => {
  const nodes = { d: decision };

  test("switches off the edges that are not taken", () => {
    const rig = DagRig.started("d>x:true d>y:false", { nodes }).decide("d", 0);
    assert.deepEqual(rig.events.slice(0, 2), [
      { type: "DecisionMade", task: 0, result: "0", edgesOff: [0] },
      { type: "TasksCanceled", tasks: [1], cause: "branch" },
    ]);
    assert.deepEqual(rig.handedOut, ["y"]);
  });

  test("may give a whole number of any size", () => {
    const rig = DagRig.started("d>x:true", { nodes }).decide("d", 2n ** 60n);
    assert.deepEqual([rig.machine.state.record(0)?.output, rig.handedOut], ["1152921504606846976", ["x"]]);
  });

  test("fails with its expression, or with a result that takes no edge", () => {
    const rig = DagRig.started("d>x:true", { nodes });
    const failure = failureOf("no such key", { type: "DECISION_INVALID", retryable: false });
    rig.tell({ type: "DecisionEvaluated", ...rig.report("d"), value: { failure } });
    assert.deepEqual([rig.status, rig.machine.state.record(0)?.failure], ["Failed", failure]);
    assert.equal(DagRig.started("d>x:true", { nodes }).decide("d", []).status, "Failed");
  });

  test("is decided once", () => {
    const rig = DagRig.started("d>x:true", { nodes });
    const report = rig.report("d");
    rig.decide("d", true).tell({ type: "DecisionEvaluated", ...report, value: { ok: false } });
    assert.deepEqual([rig.events, rig.dropped], [[], 1]);
  });
});

describe("the end of a child", () => {
  const nodes = { n: { ...nested, retryCount: 1 } };

  test("in success ends its task, with output and patch", () => {
    const rig = DagRig.started("n>a", { nodes });
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success", output: "{}", patch: { x: "1" } });
    assert.deepEqual(rig.events[0], { type: "TaskSucceeded", task: 0, attempt: 1, output: "{}", patch: { x: "1" } });
    assert.deepEqual(rig.handedOut, ["a"]);
  });

  test("in failure fails its task, and a retry goes on in the same child", () => {
    const rig = DagRig.started("n", { nodes });
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Failed", reason: "because" });
    const { type, message } = rig.machine.state.record(0)?.failure ?? {};
    assert.deepEqual([type, message], ["WORKFLOW_FAILED", `nested workflow instance "i/n" ended in Failed: because`]);
    rig.pass(1000);
    const parent = { id: "i", key: 7, generation: 1, task: 0, attempt: 2, depth: 1 };
    assert.deepEqual(rig.commands, [{ type: "TellChild", childId: "i/n", tell: { type: "RetryInstance", parent } }]);
  });

  test("by a user's hand says so", () => {
    const rig = DagRig.started("n", { nodes: { n: nested } });
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Terminated" });
    const { type, message } = rig.machine.state.record(0)?.failure ?? {};
    assert.deepEqual([type, message], ["WORKFLOW_TERMINATED", `nested workflow instance "i/n" ended in Terminated`]);
  });
});

describe("the details of the last heartbeat", () => {
  test("are recorded with a failure, a timeout and a loss, and kept until the task succeeds", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 2 } } });
    rig.complete("a", { kind: "failure", failure: failureOf("no"), heartbeat: "1" });
    assert.deepEqual(rig.events[0], {
      type: "TaskFailed",
      task: 0,
      attempt: 1,
      failure: failureOf("no"),
      heartbeat: "1",
      retryAt: rig.at + 1000,
    });
    assert.equal(rig.machine.state.record(0)?.heartbeat, "1");
    rig.pass(1000).complete("a", { kind: "lost", heartbeat: "2" });
    assert.deepEqual(rig.events[0], { type: "TaskInterrupted", task: 0, attempt: 2, heartbeat: "2" });
    rig.complete("a", { kind: "timeout", failure: failureOf("late") });
    assert.equal(rig.machine.state.record(0)?.heartbeat, "2", "the last attempt sent none");
    rig.pass(2000).succeed("a");
    assert.equal(rig.machine.state.record(0)?.heartbeat, undefined);
  });

  test("are recorded with a loss that is one too many", () => {
    const rig = DagRig.started("a");
    for (let loss = 0; loss <= 3; loss++) rig.complete("a", { kind: "lost", heartbeat: "3" });
    const [failed] = rig.events;
    assert.equal(failed?.type === "TaskFailed" && failed.heartbeat, "3");
  });

  test("are recorded with attempts that were taken back, and forgotten when the task runs anew", () => {
    const rig = DagRig.started("a b", { nodes: { a: { retryCount: 1 } } });
    rig.tell({ type: "AttemptsWithdrawn", runs: [{ ...rig.report("a"), heartbeat: "4" }, rig.report("b")] });
    assert.deepEqual(rig.events[0], { type: "TasksWithdrawn", tasks: [0, 1], heartbeats: { 0: "4" } });
    assert.deepEqual(
      [rig.machine.state.record(0)?.heartbeat, rig.machine.state.record(1)?.heartbeat],
      ["4", undefined],
    );
    rig.succeed("b").fail("a").pass(1000).fail("a").tell({ type: "RetryInstance" });
    assert.equal(rig.machine.state.record(0)?.heartbeat, undefined);
  });
});

test("reports that nobody waits for are dropped and counted", () => {
  const rig = DagRig.started("a>b", { nodes: { a: { retryCount: 1 } } });
  const first = rig.report("a");
  const reports = (report: typeof first): DagInput[] => [
    { type: "AttemptStarted", ...report, worker: "w", startedAt: 1 },
    { type: "AttemptEnded", ...report, outcome: { kind: "success", patch: { x: "1" } } },
    { type: "AttemptEnded", ...report, outcome: { kind: "lost" } },
    { type: "ChildEnded", ...report, status: "Success" },
    { type: "AttemptsWithdrawn", runs: [report] },
  ];
  const expectDropped = (report: typeof first, why: string): void => {
    for (const input of reports(report)) {
      rig.tell(input);
      assert.deepEqual([rig.events, rig.commands, rig.dropped], [[], [], 1], `${why}: ${input.type}`);
    }
  };
  expectDropped({ ...first, task: 99 }, "an unknown task");
  rig.fail("a");
  expectDropped(first, "the attempt has failed");
  rig.pass(1000);
  expectDropped(first, "an older attempt");
  rig.terminate();
  expectDropped({ ...first, attempt: 2 }, "an ended instance");
  rig.retry();
  expectDropped({ ...first, attempt: 2 }, "an older generation");
});
