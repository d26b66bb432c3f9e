/** Spec §12.6: whatever a worker sends, its member goes on, and nothing invalid becomes durable. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { defaultTimings } from "../../src/cluster/timings.ts";
import { findOutcomeProblem } from "../../src/dispatch/session-schema.ts";
import { defineJob, type EngineError, type Event } from "../../src/index.ts";
import type { Outcome } from "../../src/kernel/input.ts";
import { HostileWorker, hostileSteps } from "../server/hostile-worker.ts";
import { EngineClusterRig, type RigMember } from "./engine-cluster-rig.ts";
import { task, workflow } from "./rig.ts";

const { workerLostMs } = defaultTimings;
const pause = defineJob("pause", () => "here");
const one = workflow("one", task("t", "pause").withTimeout(3600));

interface Connection {
  readonly worker: HostileWorker;
  readonly closedWith: () => string | undefined;
  close(): void;
}

function connect(member: RigMember, id: string, jobs: readonly string[]): Connection {
  let closedWith: string | undefined;
  const listener = member.engine.acceptWorker({
    send: (text) => worker.receive(text),
    close: (error?: EngineError) => (closedWith = error?.code ?? "none"),
  });
  const worker: HostileWorker = new HostileWorker({ id, jobs, send: (text) => listener.receive(text) });
  return { worker, closedWith: () => closedWith, close: () => listener.onClosed() };
}

async function jobIds(rig: EngineClusterRig, { engine }: RigMember): Promise<string[]> {
  return (await rig.clock.until(engine.listJobs())).map(({ id }) => id);
}

/** As an outcome that had to pass the schema. */
function outcomeIn(event: Event): Outcome | undefined {
  if (event.type === "TaskSucceeded") {
    const { output, patch, subTasks } = event;
    return {
      kind: "success",
      ...(output !== undefined && { output }),
      ...(patch !== undefined && { patch }),
      ...(subTasks !== undefined && { subTasks }),
    };
  }
  return event.type === "TaskFailed" ? { kind: "failure", failure: event.failure } : undefined;
}

async function checkDurable(rig: EngineClusterRig, { engine }: RigMember, instanceId: string): Promise<void> {
  const history = await rig.clock.until(engine.getWorkflowInstanceHistory(instanceId));
  for (const { events } of history) {
    for (const event of events) {
      const outcome = outcomeIn(event);
      if (outcome !== undefined) assert.equal(findOutcomeProblem(outcome), undefined, JSON.stringify(event));
    }
  }
}

describe("12.6 a member with hostile workers", () => {
  test("12.6 goes on dispatching, whatever they send", { timeout: 120_000 }, async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1, {
      jobs: [pause],
      poolSize: 2,
      poolSizeMax: 2,
      remoteWorkers: true,
    });
    const { engine } = a;
    const jobs = await jobIds(rig, a);
    const start = async (): Promise<string> => {
      const run = await rig.clock.until(engine.submitWorkflow(one));
      return run.instanceId;
    };
    let [runs, refused, granted] = [0, 0, 0];
    const property = fc.asyncProperty(hostileSteps, async (steps) => {
      const connection = connect(a, `hostile-${runs++}`, jobs);
      connection.worker.hello();
      const ids = [await start(), await start(), await start()];
      await rig.clock.advance(10);
      granted += connection.worker.grants;
      for (const step of steps) {
        connection.worker.play(step);
        await rig.clock.advance(5);
      }
      if (connection.closedWith() === "WORKER_MESSAGE_INVALID") refused++;
      for (const { slots, runningTasks } of engine.listWorkers()) {
        assert.ok(Number.isSafeInteger(slots) && slots >= 0 && Number.isSafeInteger(runningTasks), `${slots} slots`);
      }
      connection.close();
      ids.push(await start());
      // What the worker had is lost with it.
      await rig.clock.advance(workerLostMs + 1000);
      for (const id of ids) {
        await rig.until(a, id, ({ status }) => status === "Success" || status === "Failed");
        await checkDurable(rig, a, id);
      }
      assert.deepEqual(
        a.log.lines.filter(({ level }) => level === "error"),
        [],
      );
    });
    const numRuns = Number(process.env["HEDDLE_FUZZ_RUNS"] ?? 150);
    await fc.assert(property, { numRuns, interruptAfterTimeLimit: 40_000, endOnFailure: true });
    // Otherwise it would only be known that nonsense is refused.
    assert.ok(refused > runs / 4 && granted > runs / 4, `${refused} refused, ${granted} granted in ${runs} runs`);
    assert.equal(engine.health.refusedWorkerMessages, refused);
  });

  test("12.6 closes the link at the first violation, and says which", async (t) => {
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [pause], remoteWorkers: true });
    const hello = {
      type: "Hello",
      sequence: 1,
      lastGrant: 0,
      jobs: await jobIds(rig, a),
      slots: 1,
      running: [],
      results: [],
    };
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ worker: "w", slots: "x" }, /Hello\.slots must be a whole number from 0 to 10000, got "x"/],
      [{ worker: "w", slots: 1e9 }, /Hello\.slots/],
      [{ worker: null }, /Hello\.worker/],
      [{ worker: "a/b" }, /Hello\.worker/],
      [{ worker: "a\nb" }, /Hello\.worker/],
      [{ worker: "w".repeat(1_000_000) }, /Hello\.worker/],
      [{ worker: "w", jobs: [7] }, /Hello\.jobs\[0\]/],
      [{ worker: "w", later: 1 }, /Hello has an unknown field "later"/],
    ];
    for (const [given, problem] of wrong) {
      const errors: string[] = [];
      const listener = a.engine.acceptWorker({
        send: () => undefined,
        close: (error) => void errors.push(error?.message ?? "none"),
      });
      listener.receive(JSON.stringify({ ...hello, ...given }));
      listener.receive(JSON.stringify({ ...hello, worker: "w" }));
      assert.equal(errors.length, 1);
      assert.match(errors[0] ?? "", problem);
    }
    assert.deepEqual(
      a.engine.listWorkers().filter(({ isRemote }) => isRemote),
      [],
    );
    assert.equal(a.engine.health.refusedWorkerMessages, wrong.length);
    assert.equal(a.log.lines.filter(({ level }) => level === "warn").length, wrong.length);
  });
});
