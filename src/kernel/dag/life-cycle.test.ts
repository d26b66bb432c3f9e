import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Payload } from "../payload.ts";
import type { ParentAddress } from "../address.ts";
import { payloadBytesMax } from "../payload.ts";
import { DagRig, decision, failed, nested, specOf } from "./dag.rig.ts";

const parent: ParentAddress = { id: "p", key: 1, generation: 1, task: 4, attempt: 1, depth: 1 };

describe("a start", () => {
  test("writes down what the instance is, and hands out its roots", () => {
    const rig = new DagRig(specOf("a>b c"));
    rig.start({ context: { x: "1" }, maxConcurrentTasks: 2 });
    assert.deepEqual(rig.events, [
      {
        type: "InstanceCreated",
        workflow: "w",
        version: "1",
        generation: 1,
        context: { x: "1" },
        maxConcurrentTasks: 2,
        trigger: "api",
      },
      { type: "InstanceStarted" },
      { type: "TasksScheduled", tasks: [0, 2] },
    ]);
    assert.deepEqual(rig.commands, [{ type: "RunTasks", tasks: [0, 2] }]);
  });

  test("takes the number of concurrent tasks from the request, the context, the definition, in this order; else 5", () => {
    const concurrency = (inDefinition: number | undefined, context: string | undefined, asked?: number): number => {
      const settings = inDefinition === undefined ? {} : { maxConcurrentTasks: inDefinition };
      const rig = new DagRig(specOf("a", settings));
      const maxConcurrentTasks = asked === undefined ? {} : { maxConcurrentTasks: asked };
      rig.start({ context: context === undefined ? {} : { maxConcurrentTasks: context }, ...maxConcurrentTasks });
      return rig.machine.state.maxConcurrentTasks;
    };
    assert.deepEqual([concurrency(3, "2", 1), concurrency(3, "2"), concurrency(3, undefined)], [1, 2, 3]);
    assert.equal(concurrency(undefined, undefined), 5);
    assert.deepEqual([concurrency(3, `"10"`), concurrency(3, "null")], [10, 3]);
  });

  test("is refused if the context's number of concurrent tasks is none", () => {
    const tasks = (given: Payload): void =>
      void new DagRig(specOf("a")).start({ context: { maxConcurrentTasks: given } });
    for (const bad of ["0", "-1", "1.5", "1e3", `"0"`, `"many"`, `""`, "true", "[5]", "9999999999999999"]) {
      const message = `maxConcurrentTasks in the start context of workflow "w" must be a whole number, at least 1, got ${bad}`;
      assert.throws(() => tasks(bad), { code: "OPTION_INVALID", message });
    }
    assert.throws(() => tasks({ ref: 1, bytes: 5000 }), { code: "OPTION_INVALID", message: /got a long text$/ });
  });

  test("takes what nobody sets from the limits", () => {
    const rig = new DagRig(specOf("a"), { concurrentTasks: 2 });
    assert.equal(rig.start().machine.state.maxConcurrentTasks, 2);
  });

  test("is refused with a context over the limit, and too deep in other instances", () => {
    const large = { context: { x: { ref: 1, bytes: payloadBytesMax } } };
    const rig = new DagRig(specOf("a"));
    assert.throws(() => rig.start(large), { code: "CONTEXT_TOO_LARGE", message: /start context of workflow "w"/ });
    assert.throws(() => rig.start({ parent: { ...parent, depth: 33 } }), {
      code: "NESTING_TOO_DEEP",
      message: /32 deep/,
    });
    rig.start({ parent: { ...parent, depth: 32 } });
    assert.equal(rig.status, "Running");
  });

  test("happens once, and before anything else", () => {
    const rig = new DagRig(specOf("a"));
    assert.equal(rig.refusal({ type: "TerminateInstance", reason: "x" }).code, "INSTANCE_UNKNOWN");
    rig.start();
    assert.throws(() => rig.start(), {
      code: "INSTANCE_EXISTS",
      message: /"i" has been started already; it is Running/,
    });
  });

  test("above the workflow's maximum waits to be admitted", () => {
    const rig = new DagRig(specOf("a")).start({ admission: "queue" });
    assert.deepEqual([rig.status, rig.handedOut], ["Ready", []]);
    rig.tell({ type: "AdmitInstance" });
    assert.deepEqual([rig.status, rig.handedOut], ["Running", ["a"]]);
    assert.equal(rig.tell({ type: "AdmitInstance" }).dropped, 1);
  });

  test("that waits may be refused after all, by the policy and with the reason", () => {
    for (const [refuse, status] of [
      ["fail", "Failed"],
      ["skip", "Terminated"],
    ] as const) {
      const rig = new DagRig(specOf("a>b")).start({ admission: "queue", parent });
      rig.tell({ type: "AdmitInstance", refusal: { refuse, reason: "too many instances(2>1)" } });
      assert.deepEqual([rig.status, rig.machine.state.reason], [status, "too many instances(2>1)"]);
      assert.equal(rig.tasks, "a Canceled (instance-ended), b Canceled (instance-ended)");
      assert.equal(rig.machine.state.startedAt, undefined, "it never began");
      assert.deepEqual(rig.commands, [{ type: "TellParent", parent, status, reason: "too many instances(2>1)" }]);
      assert.deepEqual(rig.replayed().retry().handedOut, ["a"]);
    }
  });

  test("that waits is refused although it is to pause", () => {
    const rig = new DagRig(specOf("a")).start({ admission: "queue" }).pause();
    rig.tell({ type: "AdmitInstance", refusal: { refuse: "skip", reason: "too many" } });
    assert.equal(rig.machine.state.status, "Terminated");
  });

  test("is not refused once it runs, waits no longer or has ended: such an answer comes too late", () => {
    const refusal = { refuse: "fail", reason: "too many" } as const;
    const running = DagRig.started("a");
    const paused = DagRig.started("a").begin("a").pause().succeed("a");
    const ended = new DagRig(specOf("a")).start({ admission: "queue" }).terminate();
    for (const rig of [running, paused, ended]) {
      const { status } = rig;
      rig.tell({ type: "AdmitInstance", refusal });
      assert.deepEqual([rig.dropped, rig.events, rig.commands, rig.status], [1, [], [], status]);
    }
  });

  test("above the workflow's maximum may end at once, and can be retried later", () => {
    for (const [refuse, status] of [
      ["fail", "Failed"],
      ["skip", "Terminated"],
    ] as const) {
      const rig = new DagRig(specOf("a>b")).start({ admission: { refuse, reason: "too many" }, parent });
      assert.deepEqual([rig.status, rig.machine.state.reason], [status, "too many"]);
      assert.equal(rig.tasks, "a Canceled (instance-ended), b Canceled (instance-ended)");
      assert.deepEqual(rig.commands, [{ type: "TellParent", parent, status, reason: "too many" }]);
      assert.deepEqual(rig.retry().handedOut, ["a"]);
      assert.equal(rig.machine.state.startedAt, 1000);
    }
  });
});

describe("a pause", () => {
  test("keeps who asked for it and why, until it is over, and tells its children", () => {
    const rig = DagRig.started("n a", { nodes: { n: nested } }).begin("a");
    const request = { type: "PauseInstance", by: "ann", reason: "db move" } as const;
    rig.tell(request);
    assert.deepEqual(rig.events[0], { type: "PauseRequested", by: "ann", reason: "db move" });
    assert.deepEqual(rig.machine.state.pause, { at: 1000, by: "ann", reason: "db move" });
    assert.deepEqual(
      rig.commands.flatMap((command) => (command.type === "TellChild" ? command.tell : [])),
      [request],
    );
    rig.at = 2000;
    rig.succeed("a");
    assert.deepEqual([rig.status, rig.replayed().machine.state.pause], ["Paused", rig.machine.state.pause]);
    assert.equal(rig.resume().machine.state.pause, undefined);
    assert.deepEqual(DagRig.started("a").pause().machine.state.pause, { at: 1000 });
  });

  test("lets running tasks finish, takes back what has not started, and hands out nothing new", () => {
    const rig = DagRig.started("a>c b d", { maxConcurrentTasks: 2 }).begin("a");
    rig.pause();
    assert.equal(rig.status, "Running, pausing");
    const attemptIds = ["a", "b"].map((id) => `i:1:${rig.task(id)}:1`);
    assert.deepEqual(rig.commands, [{ type: "WithdrawTasks", attemptIds }]);
    rig.withdraw("b");
    assert.deepEqual([rig.status, rig.handedOut], ["Running, pausing", []]);
    rig.succeed("a");
    assert.deepEqual([rig.status, rig.handedOut], ["Paused", []]);
    rig.resume();
    assert.deepEqual([rig.status, rig.handedOut], ["Running", ["d", "b"]]);
    assert.equal(rig.machine.state.attempt(rig.task("b")), 1, "the attempt that was taken back is made now");
  });

  test("is reached when a worker returns the task that ran, which runs after the pause", () => {
    const rig = DagRig.started("a>b").begin("a").pause().withdraw("a");
    assert.deepEqual([rig.status, rig.handedOut], ["Paused", []]);
    assert.deepEqual([rig.resume().handedOut, rig.machine.state.attempt(rig.task("a"))], [["a"], 1]);
  });

  test("of a failing instance leaves what ran, which has to finish", () => {
    const rig = DagRig.started("a b c", { maxConcurrentTasks: 3 }).begin("b").fail("a").pause();
    assert.deepEqual(rig.commands, [{ type: "WithdrawTasks", attemptIds: [`i:1:${rig.task("c")}:1`] }]);
  });

  test("can be taken back before it is reached", () => {
    const rig = DagRig.started("a>b").begin("a").pause().resume();
    assert.equal(rig.status, "Running");
    assert.deepEqual(rig.succeed("a").handedOut, ["b"]);
  });

  test("waits for a decision that is being evaluated, and decides no other", () => {
    const rig = DagRig.started("d>e:true e>a:true", { nodes: { d: decision, e: decision } });
    rig.pause();
    assert.equal(rig.status, "Running, pausing");
    rig.decide("d", true);
    assert.deepEqual([rig.status, rig.commands], ["Paused", []]);
    rig.resume();
    assert.deepEqual(rig.commands, [{ type: "EvaluateDecision", task: rig.task("e"), attempt: 1 }]);
  });

  test("reaches nested workflows, and does not wait for them", () => {
    const rig = DagRig.started("n>a m>b", { nodes: { n: nested, m: nested } });
    rig.pause();
    const told = ["i/n", "i/m"].map((childId) => ({ type: "TellChild", childId, tell: { type: "PauseInstance" } }));
    assert.deepEqual([rig.status, rig.commands], ["Paused", told]);
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success" });
    assert.deepEqual([rig.status, rig.handedOut], ["Paused", []]);
    rig.resume();
    assert.deepEqual(rig.commands, [
      { type: "TellChild", childId: "i/m", tell: { type: "ResumeInstance" } },
      { type: "RunTasks", tasks: [rig.task("a")] },
    ]);
  });

  test("holds an instance whose last child has ended until it is resumed", () => {
    const rig = DagRig.started("n", { nodes: { n: nested } }).pause();
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success" });
    assert.equal(rig.status, "Paused");
    assert.equal(rig.replayed().resume().status, "Success");
    rig.terminate();
    assert.deepEqual([rig.status, rig.tasks], ["Terminated", "n Success"]);
    assert.equal(rig.retry().status, "Success", "nothing was left to do");
  });

  test("holds a failure until it is resumed", () => {
    const rig = DagRig.started("n>a b>c", { nodes: { n: nested } })
      .pause()
      .withdraw("b");
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Failed", reason: "no" });
    assert.deepEqual([rig.status, rig.statusOf("a")], ["Paused", "Canceled"]);
    assert.deepEqual([rig.resume().status, rig.handedOut], ["Failed", []]);
  });

  test("before the instance is admitted holds it as soon as it is", () => {
    const rig = new DagRig(specOf("a")).start({ admission: "queue" }).pause();
    assert.equal(rig.status, "Ready, pausing");
    rig.tell({ type: "AdmitInstance" });
    assert.deepEqual([rig.status, rig.handedOut], ["Paused", []]);
    assert.deepEqual(rig.resume().handedOut, ["a"]);
  });

  test("before the instance is admitted can be taken back", () => {
    const rig = new DagRig(specOf("a")).start({ admission: "queue" }).pause().resume();
    assert.equal(rig.status, "Ready");
    assert.deepEqual(rig.tell({ type: "AdmitInstance" }).handedOut, ["a"]);
  });

  test("is refused, as a resume is, in a state that does not allow it", () => {
    const rig = DagRig.started("a").begin("a");
    const message = (type: "PauseInstance" | "ResumeInstance"): string => {
      const { code, message } = rig.refusal({ type });
      assert.equal(code, "INSTANCE_STATE");
      return message;
    };
    assert.equal(message("ResumeInstance"), `cannot resume instance "i": it is Running`);
    rig.pause();
    assert.equal(message("PauseInstance"), `cannot pause instance "i": it is Running and already pausing`);
    rig.succeed("a");
    assert.equal(message("PauseInstance"), `cannot pause instance "i": it is Success`);
    assert.equal(message("ResumeInstance"), `cannot resume instance "i": it is Success`);
  });
});

describe("time", () => {
  const options = { timeoutSeconds: 10, nodes: { a: { retryCount: 3 } } };

  test("ends an instance at its deadline", () => {
    const rig = DagRig.started("a>b", { timeoutSeconds: 10 }).begin("a");
    assert.equal(rig.machine.nextWake(), 11_000);
    assert.equal(rig.pass(9999).status, "Running");
    rig.pass(1);
    assert.deepEqual([rig.status, rig.tasks], ["Failed", "a Stopped, b Canceled (instance-ended)"]);
    assert.equal(rig.machine.state.reason, "the instance did not end within its timeout of 10 s");
    assert.deepEqual(rig.commands, [{ type: "AbortTasks", attemptIds: ["i:1:0:1"] }]);
    assert.equal(rig.machine.nextWake(), undefined);
    assert.equal(rig.pass(1).events.length, 0);
  });

  test("goes on for a paused instance", () => {
    const rig = DagRig.started("a", { timeoutSeconds: 10 }).pause().withdraw("a");
    assert.deepEqual([rig.status, rig.machine.nextWake()], ["Paused", 11_000]);
    assert.equal(rig.pass(10_000).status, "Failed");
  });

  test("that is up is noticed by a resume", () => {
    const rig = DagRig.started("a", { timeoutSeconds: 10 }).pause().withdraw("a");
    rig.at += 10_000;
    assert.deepEqual([rig.resume().status, rig.handedOut], ["Failed", []]);
  });

  test("begins anew for a retried instance", () => {
    const rig = DagRig.started("a", options).terminate();
    rig.at = 50_000;
    assert.equal(rig.retry().machine.nextWake(), 60_000);
  });

  test("wakes at whatever comes first, the deadline or a retry", () => {
    const rig = DagRig.started("a", options).fail("a");
    assert.equal(rig.machine.nextWake(), 2000);
    rig.pass(1000).fail("a").pass(2000).fail("a");
    assert.equal(rig.machine.nextWake(), 8000);
    const late = DagRig.started("a", { ...options, timeoutSeconds: 0.5 }).fail("a");
    assert.equal(late.machine.nextWake(), 1500);
  });

  test("does not wake an instance that has nothing to wait for", () => {
    const rig = new DagRig(specOf("a")).start({ admission: "queue" });
    assert.equal(rig.machine.nextWake(), undefined);
    assert.equal(rig.pass(1000).events.length, 0);
  });

  test("lets retries that come due during a pause wait for the resume", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 1 } } })
      .fail("a")
      .pause();
    assert.deepEqual([rig.status, rig.machine.nextWake()], ["Paused", undefined]);
    assert.deepEqual(rig.pass(5000).events, []);
    assert.deepEqual(rig.resume().handedOut, ["a"]);
  });
});

describe("the end", () => {
  test("by a user stops what runs, keeps the reason, reaches children and is told to the parent", () => {
    const rig = new DagRig(specOf("a n>b d>c:true", { nodes: { n: nested, d: decision } })).start({ parent });
    rig.terminate("wrong day");
    const reason = "wrong day";
    assert.deepEqual(rig.commands, [
      { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
      { type: "TellChild", childId: "i/n", tell: { type: "TerminateInstance", reason } },
      { type: "TellParent", parent, status: "Terminated", reason },
    ]);
    assert.deepEqual(rig.events, [
      { type: "TasksStopped", tasks: [0, 1, 3] },
      { type: "InstanceEnded", status: "Terminated", reason },
    ]);
    assert.deepEqual(rig.refusal({ type: "TerminateInstance", reason }), {
      code: "INSTANCE_STATE",
      message: `cannot terminate instance "i": it is Terminated`,
    });
  });

  test("gives the parent what the child changed of the context, and only after success", () => {
    const rig = new DagRig(specOf("a>b")).start({ parent, context: { kept: "1", gone: "2" } });
    rig.succeed("a", { patch: { gone: null, made: "3" } });
    rig.succeed("b");
    assert.deepEqual(rig.commands, [
      { type: "TellParent", parent, status: "Success", patch: { gone: null, made: "3" } },
    ]);
  });

  test("tells the parent no patch where nothing changed or all was in vain", () => {
    const plain = new DagRig(specOf("a")).start({ parent }).succeed("a");
    assert.deepEqual(plain.commands, [{ type: "TellParent", parent, status: "Success" }]);
    const failed = new DagRig(specOf("a>b"))
      .start({ parent })
      .succeed("a", { patch: { x: "1" } })
      .fail("b");
    assert.deepEqual(failed.commands, [
      { type: "TellParent", parent, status: "Failed", reason: `task "b" failed: no` },
    ]);
  });
});

describe("a retry by the parent", () => {
  const again = { ...parent, attempt: 2 };

  test("of a child that failed reopens it, and its end is told to the new attempt", () => {
    const rig = new DagRig(specOf("a")).start({ parent }).fail("a");
    rig.tell({ type: "RetryInstance", parent: again });
    assert.deepEqual(rig.events[0], { type: "InstanceReopened", generation: 2, reset: [0], parent: again });
    assert.deepEqual(rig.succeed("a").commands, [{ type: "TellParent", parent: again, status: "Success" }]);
  });

  test("of a child that ended well after all tells it so", () => {
    const rig = new DagRig(specOf("a")).start({ parent }).succeed("a", { patch: { x: "1" } });
    rig.tell({ type: "RetryInstance", parent: again });
    assert.deepEqual(rig.events, [{ type: "ParentChanged", parent: again }]);
    assert.deepEqual(rig.commands, [{ type: "TellParent", parent: again, status: "Success", patch: { x: "1" } }]);
    assert.deepEqual([rig.status, rig.machine.state.generation], ["Success", 1]);
  });

  test("of a child that a user has retried already only says who waits for it", () => {
    const rig = new DagRig(specOf("a")).start({ parent }).fail("a").retry();
    rig.tell({ type: "RetryInstance", parent: again });
    assert.deepEqual([rig.events, rig.commands], [[{ type: "ParentChanged", parent: again }], []]);
    assert.deepEqual(rig.succeed("a").commands, [{ type: "TellParent", parent: again, status: "Success" }]);
  });
});

test("parameters that come with the start are those of the first task, in its first turn and after a retry", () => {
  const rig = new DagRig(specOf("a>b"));
  rig.start({ taskParams: "[1]" });
  assert.deepEqual(
    rig.events.map(({ type }) => type),
    ["InstanceCreated", "TaskParamsUpdated", "InstanceStarted", "TasksScheduled"],
  );
  assert.equal(rig.machine.state.params(0), "[1]");
  assert.equal(rig.machine.state.params(1), undefined);
  rig.complete("a", failed).tell({ type: "RetryInstance" });
  assert.equal(rig.machine.state.params(0), "[1]");
});

test("parameters that come with the start are kept by an instance that waits to be admitted", () => {
  const rig = new DagRig(specOf("a"));
  rig.start({ taskParams: '"x"', admission: "queue" });
  rig.tell({ type: "AdmitInstance" });
  assert.equal(rig.machine.state.params(0), '"x"');
});
