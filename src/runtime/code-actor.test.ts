import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { EngineError, hasCode } from "../base/error.ts";
import type { Event } from "../kernel/event.ts";
import type { Input } from "./input.ts";
import type { Machine } from "../kernel/machine.ts";
import { CodeShard, startInput } from "./code-shard.rig.ts";
import { InstanceTaskRun } from "./instance-task-run.ts";
import { outcomeOf } from "./shard.rig.ts";

const raise = (name: string, data?: string): Input => ({
  type: "RaiseEvent",
  name,
  ...(data !== undefined && { data }),
});
const two = async (ctx: WorkflowContext): Promise<unknown> => [await ctx.run("a"), await ctx.run("b")];

describe("an instance of code", () => {
  test("starts, and its code's first steps, in one turn", async () => {
    const shard = await CodeShard.having(two);
    const { events, effects } = await shard.turn(startInput);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["InstanceCreated", "InstanceStarted", "TaskAdded", "TasksScheduled"],
    );
    assert.deepEqual(effects, [{ type: "RunTasks", tasks: [0] }]);
    assert.equal(shard.life.isActive, true);
  });

  test("A1: stays where it is between turns, and never sees anything twice", async () => {
    let calls = 0;
    const shard = await CodeShard.having((ctx) => {
      calls++;
      return two(ctx);
    });
    await shard.turn(startInput);
    await shard.turn(shard.done(0));
    await shard.turn(shard.done(1, "2"));
    assert.deepEqual([calls, shard.reads, shard.life.machine.state.output], [1, 0, "[1,2]"]);
  });

  test("A1: is brought to where it was before it sees anything new", async () => {
    const shard = await CodeShard.having(two);
    await shard.turn(startInput);
    await shard.turn(shard.done(0));
    shard.revive();
    const { events } = await shard.turn(shard.done(1, "2"));
    assert.deepEqual(
      events.map(({ type }) => type),
      ["TaskSucceeded", "InstanceEnded"],
    );
    assert.equal(shard.life.machine.state.output, "[1,2]");
  });

  test("whose history cannot be read while its shard closes leaves inputs unread, and rejects queries", async () => {
    const shard = await CodeShard.having(two);
    await shard.turn(startInput);
    const life = shard.revive();
    life.code.forgetPast();
    shard.readHistory = () => Promise.reject(new EngineError("STORE_UNAVAILABLE", "the store is away"));
    shard.isStopping = true;
    const query = Promise.withResolvers<void>();
    const inputs = [{ input: raise("go") }, { input: shard.done(0) }];
    for (const message of [...inputs, { query: () => undefined, reply: query }]) life.tell(message);
    await shard.prepare();
    assert.throws(() => life.openTurn(), { code: "STORE_UNAVAILABLE" });
    await assert.rejects(query.promise, { code: "STORE_UNAVAILABLE" });
    assert.deepEqual(life.inbox, inputs);
  });

  test("writes nothing when it is brought back and nothing is new", async () => {
    const shard = await CodeShard.having(two);
    await shard.turn(startInput);
    shard.revive();
    assert.deepEqual((await shard.turn()).events, []);
  });

  test("reads large values, from the turn they came in or from the store", async () => {
    const large = JSON.stringify("x".repeat(5000));
    const shard = await CodeShard.having(async (ctx) => {
      const texts = [String(await ctx.run("a")), await ctx.waitForEvent<string>("e")];
      await ctx.sleep(5);
      return texts.map(({ length }) => length);
    });
    await shard.turn(startInput);
    await shard.turn(shard.done(0, large), raise("e", large));
    shard.revive();
    await shard.clock.advance(10);
    await shard.turn({ type: "TimerDue" });
    assert.equal(shard.life.machine.state.output, "[5000,5000]");
  });

  test("begins anew with a history that begins with that turn", async () => {
    const shard = await CodeShard.having(async (ctx, n: number | undefined) => {
      if (n === undefined) {
        await ctx.run("a");
        return await ctx.continueAsNew(1, { keepEvents: true });
      }
      return [n, await ctx.waitForEvent("e"), ctx.generation];
    });
    await shard.turn(startInput);
    const { events, beginsAnew } = await shard.turn(raise("other"), raise("e", "7"), shard.done(0));
    assert.equal(beginsAnew, true);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["InstanceContinued", "InstanceEnded"],
    );
    assert.deepEqual(shard.types, ["InstanceContinued", "InstanceEnded"]);
    assert.equal(shard.life.machine.state.output, "[1,7,2]");
  });

  test("is not told as it was in a generation that the turn has left behind", async () => {
    const shard = await CodeShard.having(async (ctx) => {
      await ctx.run("a");
      return await ctx.continueAsNew();
    });
    await shard.turn(startInput);
    await shard.turn({ type: "PauseInstance" });
    const told: unknown[] = [];
    const query = ({ state }: Machine): void => void told.push([state.generation, state.status, state.size]);
    const reply = { resolve: () => undefined, reject: assert.fail };
    shard.life.tell({ input: shard.done(0) });
    shard.life.tell({ query, reply });
    await shard.turn({ type: "ResumeInstance" });
    assert.deepEqual(told.at(-1), [2, "Running", 0]);
    assert.deepEqual(shard.types.slice(0, 1), ["InstanceContinued"]);
  });

  test("goes on from another's history", async () => {
    const shard = await CodeShard.having(two);
    const added: Event = { type: "TaskAdded", node: { nodeId: 0, jobName: "a" } };
    await shard.turn({
      ...startInput,
      fork: {
        from: { id: "o", generation: 1 },
        events: [
          added,
          { type: "TasksScheduled", tasks: [0] },
          { type: "TaskSucceeded", task: 0, attempt: 1, output: "9" },
        ],
      },
    });
    assert.deepEqual(shard.types.slice(-2), ["TaskAdded", "TasksScheduled"]);
    await shard.turn(shard.done(1, "2"));
    assert.equal(shard.life.machine.state.output, "[9,2]");
  });

  test("that is terminated runs neither catch nor finally, nor anything to undo", async () => {
    const seen: string[] = [];
    const shard = await CodeShard.having(async (ctx) => {
      ctx.undo(() => void seen.push("undo"));
      try {
        await ctx.sleep(5);
      } finally {
        seen.push("finally");
      }
    });
    await shard.turn(startInput);
    await shard.turn({ type: "TerminateInstance", reason: "enough" });
    await shard.clock.settle();
    assert.deepEqual([seen, shard.life.machine.status], [[], "Terminated"]);
  });

  test("records a start that came while its turn waited to be opened, before it confirms that", async () => {
    const shard = await CodeShard.having(two);
    await shard.turn(startInput);
    shard.life.tell({ input: raise("e") });
    await shard.prepare();
    const run = new InstanceTaskRun(shard.life, 0, false);
    shard.life.onStarted(run, { worker: "m/w", startedAt: 5 });
    let isConfirmed = false;
    void shard.life.confirmStart().then(() => (isConfirmed = true));
    const turn = shard.write(shard.life.openTurn());
    turn.reply();
    await setImmediate();
    assert.deepEqual([isConfirmed, turn.events.some(({ type }) => type === "TaskStarted")], [true, true]);
  });

  test("refuses what came behind a start that was refused, updates and queries of its code too", async () => {
    const shard = await CodeShard.having(two);
    const parent = { id: "p", key: 1, generation: 1, task: 0, attempt: 1, depth: 1000 };
    const answerFrom = (machine: Machine): void => {
      if (machine.state.generation === 0) throw new EngineError("INSTANCE_UNKNOWN", "there is none");
    };
    const codes: Promise<string>[] = [];
    const newReply = (): PromiseWithResolvers<void> => {
      const reply = Promise.withResolvers<void>();
      codes.push(reply.promise.then(String, (error: unknown) => (error as EngineError).code));
      return reply;
    };
    shard.life.tell({ input: { ...startInput, parent } as Input, reply: newReply() });
    shard.life.tell({ input: { type: "PauseInstance" }, reply: newReply() });
    shard.life.tell({ input: { type: "RequestUpdate", update: "u", name: "set" }, reply: newReply() });
    shard.life.tell({ query: answerFrom, ofCode: true, reply: newReply() });
    await shard.prepare();
    shard.life.openTurn().reply();
    assert.deepEqual(await Promise.all(codes), [
      "NESTING_TOO_DEEP",
      "INSTANCE_UNKNOWN",
      "INSTANCE_UNKNOWN",
      "INSTANCE_UNKNOWN",
    ]);
    assert.equal(shard.life.isInboxEmpty, true);
  });

  test("gives what it had taken to whoever takes its inbox away", async () => {
    const shard = await CodeShard.having(two);
    shard.life.tell({ input: startInput });
    const prepared = shard.prepare();
    shard.life.tell({ input: raise("e") });
    assert.deepEqual(
      shard.life.abandonInbox().map((message) => "input" in message && message.input.type),
      ["StartInstance", "RaiseEvent"],
    );
    await prepared;
    assert.equal(shard.life.isInboxEmpty, true);
  });
});

describe("code that is not there", () => {
  test("holds up its own instance, and loses nothing", async () => {
    const shard = await CodeShard.having();
    await shard.turn(startInput);
    assert.match(shard.life.code.attention ?? "", /^the code of workflow "w" in version "1" is not registered/);
    await shard.turn(raise("e", "1"));
    await shard.turn(raise("e", "2"));
    assert.deepEqual([shard.life.isActive, shard.life.isIdle], [true, false]);
    shard.deploy(async (ctx) => [await ctx.waitForEvent("e"), await ctx.waitForEvent("e")]);
    await shard.turn({ type: "ResumeInstance" });
    assert.deepEqual([shard.life.code.attention, shard.life.machine.state.output], [undefined, "[1,2]"]);
  });

  test("goes on by itself when it comes", async () => {
    const shard = await CodeShard.having();
    await shard.turn(startInput);
    shard.deploy(two);
    shard.life.onCodeRegistered();
    await shard.turn();
    assert.deepEqual([shard.life.code.attention, shard.types.at(-1)], [undefined, "TasksScheduled"]);
    shard.life.onCodeRegistered();
    assert.equal(shard.life.isInboxEmpty, true, "it needs nothing");
  });

  test("goes on with the next turn when it comes while one waits to be written", async () => {
    const shard = await CodeShard.having();
    shard.life.tell({ input: startInput });
    await shard.prepare();
    shard.deploy(async (ctx) => await ctx.run("a"));
    shard.life.onCodeRegistered();
    shard.write(shard.life.openTurn());
    assert.equal(shard.life.hasMore, true, "whoever writes it asks for another");
    await shard.turn();
    assert.deepEqual(shard.types, ["InstanceCreated", "InstanceStarted", "TaskAdded", "TasksScheduled"]);
    assert.equal(shard.life.hasMore, false);
  });

  test("goes on after a pause with the resume that ends it", async () => {
    const shard = await CodeShard.having();
    await shard.turn(startInput, { type: "PauseInstance" });
    shard.deploy(two);
    await shard.turn({ type: "ResumeInstance" });
    assert.deepEqual([shard.life.machine.status, shard.types.at(-1)], ["Running", "TasksScheduled"]);
  });

  test("that begins anew for the first of the events it missed gives the others on", async () => {
    const shard = await CodeShard.having();
    await shard.turn(startInput, raise("e", "1"), raise("e", "2"));
    shard.deploy(async (ctx, sum: number | undefined) => {
      const next = (sum ?? 0) + (await ctx.waitForEvent<number>("e"));
      return next === 3 ? next : await ctx.continueAsNew(next, { keepEvents: true });
    });
    await shard.turn({ type: "ResumeInstance" });
    assert.deepEqual([shard.life.machine.status, shard.life.machine.state.output], ["Success", "3"]);
  });

  test("cannot be asked", async () => {
    const shard = await CodeShard.having();
    await shard.turn(startInput);
    assert.throws(
      () => shard.life.code.query("total", undefined),
      /does not go on, so it cannot answer: the code of workflow/,
    );
    const reply = Promise.withResolvers<void>();
    shard.life.tell({ input: { type: "RequestUpdate", update: "u", name: "set" }, reply });
    await shard.turn();
    assert.equal(await outcomeOf(reply.promise), "INSTANCE_STATE");
    assert.equal(shard.types.includes("UpdateRequested"), false);
  });
});

describe("an owner that was frozen", () => {
  const countToThree = async (ctx: WorkflowContext, count = 0): Promise<unknown> => {
    await ctx.run("a", { count });
    return count < 3 ? ctx.continueAsNew(count + 1) : count;
  };

  for (const turnCount of [1, 2, 3, 4, 5]) {
    test(`reads ${turnCount} turns of the next owner: the shard is lost, and the code is not blamed`, async () => {
      const shard = await CodeShard.having();
      await shard.turn(startInput);
      const stale = shard.life;
      shard.deploy(countToThree);
      shard.revive();
      await shard.turn();
      for (let turn = 1; turn < turnCount; turn++) await shard.turn(shard.done(0));
      stale.tell({ input: { type: "ResumeInstance" } });
      await new Promise<void>((resolve) => stale.prepare(() => resolve()));
      assert.throws(() => stale.openTurn(), { code: "STORE_FENCED" });
      assert.ok(hasCode(shard.lostBy, "STORE_FENCED"));
      assert.equal(stale.code.attention, undefined);
    });
  }
});

describe("code that is not what it was", () => {
  test("is stopped at the first step that differs, and goes on with the right code", async () => {
    const shard = await CodeShard.having(two);
    await shard.turn(startInput);
    shard.deploy((ctx) => ctx.run("other"));
    shard.revive();
    await shard.turn(shard.done(0));
    assert.match(
      shard.life.code.attention ?? "",
      /step 0 is on record as activity "a", but the code now asks for activity "other"/,
    );
    assert.equal(shard.types.at(-1), "TaskSucceeded", "what came in is on record");
    shard.deploy(two);
    await shard.turn({ type: "ResumeInstance" });
    assert.deepEqual([shard.life.code.attention, shard.types.at(-1)], [undefined, "TasksScheduled"]);
  });

  test("is looked at again with the next resume, and stopped again", async () => {
    const shard = await CodeShard.having(two);
    await shard.turn(startInput);
    shard.deploy((ctx) => ctx.sleep(5));
    shard.revive();
    await shard.turn();
    await shard.turn({ type: "ResumeInstance" });
    assert.match(shard.life.code.attention ?? "", /step 0/);
  });

  test("matters no more to an instance that is run from the beginning", async () => {
    const shard = await CodeShard.having((ctx) => ctx.run("a").then(() => Promise.reject(new Error("no"))));
    await shard.turn(startInput);
    await shard.turn(shard.done(0));
    shard.deploy((ctx) => ctx.run("other"));
    shard.revive();
    await shard.turn({ type: "RetryInstance" });
    assert.deepEqual([shard.life.code.attention, shard.life.machine.status], [undefined, "Running"]);
    await shard.turn(shard.done(0, "5"));
    assert.equal(shard.life.machine.state.output, "5");
  });
});

describe("code that is not durable", () => {
  test("is stopped when it waits for nothing else, and what it did in that reaction is not on record", async () => {
    const shard = await CodeShard.having(async (ctx) => {
      ctx.setCustomStatus("half way");
      await new Promise(() => undefined);
    });
    await shard.turn(startInput);
    assert.match(shard.life.code.attention ?? "", /for nothing that is durable/);
    assert.deepEqual(shard.types, ["InstanceCreated", "InstanceStarted"]);
  });

  test("is stopped when it goes on at another time, and brings nothing else down", async () => {
    const outside = Promise.withResolvers<void>();
    const shard = await CodeShard.having(async (ctx) => {
      await Promise.race([ctx.sleep(1000), outside.promise]);
      throw new Error("late");
    });
    await shard.turn(startInput);
    outside.resolve();
    await shard.clock.settle();
    assert.match(shard.life.code.attention ?? "", /waited for something else/);
    await shard.turn(raise("e"));
    assert.equal(shard.types.at(-1), "EventRaised");
  });
});

test("what code asked for in the turn in which it begins anew is not run", async () => {
  const shard = await CodeShard.having(async (ctx, input: number | undefined) => {
    await ctx.waitForEvent("e");
    if (input === 1) return;
    void ctx.run("a");
    await ctx.waitForEvent("e");
    await ctx.continueAsNew(1);
  });
  await shard.turn(startInput);
  const { effects } = await shard.turn(raise("e"), raise("e"));
  assert.deepEqual(effects, [{ type: "AbortTasks", attemptIds: ["i:1:0:1"] }]);
  assert.deepEqual(shard.types, ["InstanceContinued"]);
});

describe("what clients ask", () => {
  const counting = async (ctx: WorkflowContext): Promise<void> => {
    let total = 1;
    ctx.onQuery("total", () => total);
    ctx.onQuery("throws", () => {
      throw new RangeError("no");
    });
    ctx.onUpdate("set", {
      validate: (n: number) => {
        if (n < 0) throw new RangeError("below zero");
      },
      handler: (n: number) => (total = n),
    });
    await ctx.waitForEvent("end");
  };

  test("is answered from the code, also after the end", async () => {
    const shard = await CodeShard.having(counting);
    await shard.turn(startInput, { type: "RequestUpdate", update: "u", name: "set", data: "5" });
    assert.equal(shard.life.code.query("total", undefined), "5");
    await shard.turn(raise("end"));
    shard.revive();
    await shard.turn();
    assert.equal(shard.life.code.query("total", undefined), "5");
    assert.equal(shard.life.machine.status, "Success");
  });

  test("a query that throws, or that there is not, changes nothing", async () => {
    const shard = await CodeShard.having(counting);
    await shard.turn(startInput);
    assert.throws(
      () => shard.life.code.query("throws", undefined),
      (error) => hasCode(error, "HANDLER_FAILED") && error.message === 'query "throws" of instance "i" threw: no',
    );
    assert.throws(
      () => shard.life.code.query("other", undefined),
      (error) => hasCode(error, "HANDLER_UNKNOWN"),
    );
    assert.equal(shard.life.code.attention, undefined);
  });

  test("an update is checked before it is written down", async () => {
    const shard = await CodeShard.having(counting);
    await shard.turn(startInput);
    const outcomes: string[] = [];
    for (const [name, data] of [
      ["set", "-1"],
      ["other", "1"],
      ["set", "1"],
    ] as const) {
      const reply = Promise.withResolvers<void>();
      shard.life.tell({ input: { type: "RequestUpdate", update: `${name}${data}`, name, data }, reply });
      await shard.turn();
      outcomes.push(await outcomeOf(reply.promise));
    }
    assert.deepEqual(outcomes, ["INPUT_INVALID", "HANDLER_UNKNOWN", "done"]);
    assert.deepEqual(shard.types.slice(2), ["UpdateRequested", "UpdateAnswered"]);
  });

  test("a turn that a bug of ours breaks is told to those who wait for it", async () => {
    const shard = await CodeShard.having(counting);
    await shard.turn(startInput);
    const replies = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const reply of replies) shard.life.tell({ input: raise("other"), reply });
    shard.life.machine.handle = () => {
      throw new TypeError("a bug of ours");
    };
    await shard.prepare();
    assert.throws(() => shard.life.openTurn(), /a bug of ours/);
    for (const { promise } of replies) await assert.rejects(promise, /a bug of ours/);
  });

  test("questions that come while a turn is prepared are answered with it", async () => {
    const shard = await CodeShard.having(counting);
    await shard.turn(startInput);
    shard.life.tell({ input: raise("other") });
    await shard.prepare();
    const reply = Promise.withResolvers<void>();
    shard.life.tell({ query: () => undefined, reply });
    shard.write(shard.life.openTurn());
    assert.equal(await outcomeOf(reply.promise), "done");
    assert.equal(shard.life.isInboxEmpty, true);
  });

  test("to end, while it is paused, is heard behind what came in before, and calls that off too", async () => {
    const shard = await CodeShard.having(async (ctx) => {
      await ctx.waitForEvent("e");
      await ctx.run("late");
    });
    await shard.turn(startInput, { type: "PauseInstance" }, raise("e"));
    const { effects } = await shard.turn({ type: "CancelInstance", reason: "enough" });
    assert.deepEqual([shard.life.machine.status, shard.life.machine.state.reason], ["Terminated", "enough"]);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ["RunTasks", "AbortTasks"],
    );
    assert.equal(shard.life.machine.state.inFlight, 0);
  });

  test("to end, of code that is not there, calls off what it asks for when it comes", async () => {
    const shard = await CodeShard.having();
    await shard.turn(startInput, { type: "CancelInstance", reason: "enough" });
    shard.deploy(async (ctx) => {
      ctx.undo(() => ctx.run("back").then(() => undefined));
      await ctx.run("a");
    });
    const { effects } = await shard.turn({ type: "ResumeInstance" });
    assert.deepEqual(effects, [
      { type: "RunTasks", tasks: [0] },
      { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
      { type: "RunTasks", tasks: [1] },
    ]);
    await shard.turn(shard.done(1));
    assert.equal(shard.life.machine.status, "Terminated");
  });

  test("to end, of code that is not there, compensates a step that succeeds before the code comes", async () => {
    const code = async (ctx: WorkflowContext): Promise<unknown> => {
      await ctx.run("a", undefined, { undo: () => ctx.run("undo a").then(() => undefined) });
      return await ctx.run("b");
    };
    const shard = await CodeShard.having(code);
    await shard.turn(startInput);
    shard.workflows.clear();
    shard.revive();
    await shard.turn({ type: "CancelInstance", reason: "enough" });
    await shard.turn(shard.done(0));
    shard.deploy(code);
    await shard.turn({ type: "ResumeInstance" });
    const added = shard.events.flatMap((event) => (event.type === "TaskAdded" ? [event.node.jobName] : []));
    assert.deepEqual(added, ["a", "b", "undo a"]);
    shard.revive();
    await shard.turn(shard.done(2));
    assert.deepEqual([shard.life.machine.status, shard.life.code.attention], ["Terminated", undefined]);
  });

  test("to end is not heard twice by code that is taking back what it did", async () => {
    const shard = await CodeShard.having(async (ctx) => {
      ctx.undo(() => ctx.run("back").then(() => undefined));
      await ctx.run("a");
      throw new Error("no");
    });
    await shard.turn(startInput);
    await shard.turn(shard.done(0));
    const { events } = await shard.turn({ type: "CancelInstance", reason: "enough" });
    assert.deepEqual(events, []);
    await shard.turn(shard.done(1));
    assert.deepEqual([shard.life.machine.status, shard.life.machine.state.reason], ["Failed", "no"]);
  });
});
