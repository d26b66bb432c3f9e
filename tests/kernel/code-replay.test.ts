/**
 * Random code, run live while things arrive in random order, and then again over what is on record, from every place of
 * the history on: it takes the same steps. A failing run prints its seed and the shortest run that fails too.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { deliverAndWait } from "../../src/code/deliver-and-wait.ts";
import type { Step } from "../../src/kernel/code/step.ts";
import { recordedIdentity } from "../../src/kernel/code/step.ts";
import { hasEnded } from "../../src/kernel/status.ts";
import { replay } from "../../src/code/code-replay.ts";
import { CodeLive, newRun, restored, seenAs, type WorkflowCode } from "./code-live.ts";
import { code, functionOf } from "./code-programs.ts";

const choice = fc.record({ what: fc.nat(99), which: fc.nat(20), how: fc.nat(9) });
type Choice = typeof choice extends fc.Arbitrary<infer T> ? T : never;

/** Something that may happen now, chosen by chance. */
async function happen(live: CodeLive, { what, which, how }: Choice): Promise<void> {
  const { machine } = live;
  const { status } = machine;
  live.at += how;
  if (status === "Paused" && what % 3 === 0) return await live.tell({ type: "ResumeInstance" });
  if (what < 55) return await endTask(live, which, how);
  if (what < 70) {
    live.at = Math.max(live.at, machine.nextWake() ?? 0);
    return await live.tell({ type: "TimerDue" });
  }
  if (what < 85) return await live.tell({ type: "RaiseEvent", name: how % 2 === 0 ? "e" : "f", data: String(how) });
  if (what < 92) return await live.tell({ type: "RequestUpdate", update: `u${live.history.length}`, name: "set" });
  if (what < 97) return status === "Running" ? await live.tell({ type: "PauseInstance" }) : undefined;
  // What came in while it was paused is seen first.
  if (status === "Paused") await live.tell({ type: "ResumeInstance" });
  if (live.isOver) return;
  await live.tell({ type: "CancelInstance", reason: "enough", ...(live.isUndoingSaga && { isHeld: true }) });
}

async function endTask(live: CodeLive, which: number, how: number): Promise<void> {
  const { state } = live.machine;
  const inFlight = state.tasksInFlight();
  const task = inFlight[which % Math.max(1, inFlight.length)];
  if (task === undefined) return;
  const report = { task, attempt: state.attempt(task), generation: state.generation };
  const isGood = how > 1;
  if (state.definition(task).kind === "nested") {
    return await live.tell({
      type: "ChildEnded",
      ...report,
      status: isGood ? "Success" : "Failed",
      output: String(how),
    });
  }
  const failure = { type: "Error", message: `no ${how}`, retryable: true };
  const outcome = isGood
    ? ({ kind: "success", output: String(how) } as const)
    : ({ kind: "failure", failure } as const);
  await live.tell({ type: "AttemptEnded", ...report, outcome });
}

/** Of the history up to there: what the code does that is not on record, and what it did live. */
async function checkPrefix(fn: WorkflowCode, live: CodeLive, length: number): Promise<void> {
  const past = live.history.slice(0, length);
  // What has begun anew has left its history behind.
  const machine = restored(past.filter(({ event }) => event.type !== "InstanceContinued"));
  const taken = live.reactions.filter(({ event }) => event < length).flatMap(({ steps }) => steps);
  const onRecord = past.filter(({ event }) => recordedIdentity(event) !== undefined).length;
  const run = newRun(fn, machine);
  const steps = await replay(run, past, machine.state, { read: () => assert.fail() });
  assert.deepEqual(steps, taken.slice(onRecord), `the first ${length} events`);
}

/** Brought back from so much of its history, it does with the rest what it did before. */
async function checkRevival(fn: WorkflowCode, live: CodeLive, turn: number): Promise<void> {
  const length = live.history.findIndex((each) => each.turn >= turn);
  const past = live.history.slice(0, Math.max(0, length));
  const machine = restored(past);
  if (past.length === 0 || hasEnded(machine.status)) return;
  const run = newRun(fn, machine);
  assert.deepEqual(await replay(run, past, machine.state, { read: () => assert.fail() }), []);
  for (const { event: place, steps: before } of live.reactions) {
    if (place < length) continue;
    const { event, at } = live.history[place]!;
    const steps: Step[] = [];
    const arrival = await seenAs(event);
    await deliverAndWait(run, arrival!, at, (taken) => steps.push(...taken));
    assert.deepEqual(steps, before);
  }
}

test("code takes the same steps over the same history, from wherever it is run again", async () => {
  await fc.assert(
    fc.asyncProperty(
      code,
      fc.array(choice, { minLength: 10, maxLength: 40, size: "max" }),
      async (program, choices) => {
        const fn = functionOf(program);
        const live = new CodeLive(fn);
        await live.start();
        for (const each of choices) if (!live.isOver) await happen(live, each);
        // After a new beginning, what the old run was stopped with stands before it.
        const end = live.history.findIndex(({ event }) => event.type === "InstanceContinued");
        const lengths = Array.from({ length: (end === -1 ? live.history.length : end) - 1 }, (_, place) => place + 2);
        for (const length of lengths) await checkPrefix(fn, live, length);
        const turns = live.history.at(-1)!.turn;
        for (let turn = 1; turn <= turns; turn += 1 + Math.floor(turns / 5)) await checkRevival(fn, live, turn);
      },
    ),
    { numRuns: 300 },
  );
});
