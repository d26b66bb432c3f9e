/** Spec §12.6: attempts of a worker belong to whoever it was authenticated as, with every member. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defaultTimings } from "../../src/cluster/timings.ts";
import type { Grant, MemberMessage, RunningAttempt } from "../../src/dispatch/session-message.ts";
import { parseMemberMessage } from "../../src/dispatch/session-schema.ts";
import { defineJob, type LinkListener } from "../../src/index.ts";
import { EngineClusterRig, type RigMember } from "./engine-cluster-rig.ts";
import { task, workflow } from "./rig.ts";

const { workerBeatMs } = defaultTimings;
const job = defineJob("work", () => "here");
const one = workflow("one", task("t", "work").withTimeout(3600));

/** A worker in the hands of the test. */
class HandWorker {
  readonly heard: MemberMessage[] = [];
  readonly #listener: LinkListener;

  constructor(member: RigMember, principal: string) {
    const link = { send: (text: string) => void this.heard.push(parseMemberMessage(text)), close: () => undefined };
    this.#listener = member.engine.acceptWorker(link, { principal });
  }

  hello(given: {
    sequence: number;
    jobs: readonly string[];
    slots?: number;
    running?: readonly RunningAttempt[];
  }): void {
    this.say({ type: "Hello", worker: "w", lastGrant: 0, slots: 1, running: [], results: [], ...given });
  }

  say(message: object): void {
    this.#listener.receive(JSON.stringify(message));
  }

  close(): void {
    this.#listener.onClosed();
  }
}

interface Stage {
  readonly rig: EngineClusterRig;
  readonly a: RigMember;
  readonly b: RigMember;
  readonly id: string;
  readonly jobs: readonly string[];
  readonly worker: HandWorker;
  readonly running: readonly RunningAttempt[];
}

/** An instance of `a` has an attempt on a worker that came to `a` as "own". */
async function stage(t: TestContext): Promise<Stage> {
  const [rig, a, b] = await EngineClusterRig.start(t, 2, {
    jobs: [job],
    runsJobs: false,
    remoteWorkers: true,
  });
  const jobs = (await rig.clock.until(a.engine.listJobs())).map(({ id }) => id);
  const worker = new HandWorker(a, "own");
  worker.hello({ sequence: 1, jobs });
  const id = await rig.idOn(a);
  await rig.clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
  await rig.clock.advance(1000);
  const grant = worker.heard.find((message): message is Grant => message.type === "Grant");
  assert.ok(grant !== undefined);
  return { rig, a, b, id, jobs, worker, running: [{ grant: 0, descriptor: grant.descriptor }] };
}

function finish(worker: HandWorker, [attempt]: readonly RunningAttempt[], said: string): void {
  const { attemptId, startedAt } = attempt?.descriptor ?? { attemptId: "", startedAt: 0 };
  const outcome = { kind: "success", output: JSON.stringify(said) };
  worker.say({ type: "Result", attemptId, grant: 0, outcome, startedAt });
}

describe("12.6 a worker of another principal", () => {
  for (const where of ["same", "other"] as const) {
    test(`12.6 cannot bring along what it was not given, to the ${where} member`, async (t) => {
      const { rig, a, b, id, jobs, worker, running } = await stage(t);
      const thief = new HandWorker(where === "same" ? a : b, "other");
      thief.hello({ sequence: 1000, jobs, slots: 0, running });
      finish(thief, running, "forged");
      await rig.clock.advance(2 * workerBeatMs);
      assert.equal((await rig.clock.until(a.engine.getWorkflowInstanceStatus(id))).status, "Running");
      const { attemptId, startedAt } = running[0]?.descriptor ?? { attemptId: "", startedAt: 0 };
      const outcome = { kind: "success", output: '"honest"' };
      worker.say({ type: "Result", attemptId, grant: 1, outcome, startedAt });
      assert.deepEqual(await rig.clock.until(a.engine.awaitWorkflowInstance(id)), { t: "honest" });
    });

    test(`12.6 cannot take over an attempt whose member is gone, with the ${where} member`, async (t) => {
      const { rig, a, b, id, jobs, running } = await stage(t);
      a.kill();
      await rig.spread();
      const c = await rig.join("c");
      await rig.spread();
      const owner = (await rig.ownerOf(id)) === b ? b : c;
      const member = where === "same" ? owner : owner === b ? c : b;
      const thief = new HandWorker(member, "other");
      thief.hello({ sequence: 1000, jobs, slots: 0, running });
      finish(thief, running, "forged");
      await rig.clock.advance(1000);
      assert.equal((await rig.clock.until(member.engine.getWorkflowInstanceStatus(id))).status, "Running");
      const again = new HandWorker(member, "own");
      again.hello({ sequence: 2, jobs, running });
      await rig.clock.advance(1000);
      finish(again, running, "honest");
      assert.deepEqual(await rig.clock.until(member.engine.awaitWorkflowInstance(id)), { t: "honest" });
    });
  }
});
