/** Spec §12.2: what happens to remote workers is heard at every member. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defaultTimings } from "../../src/cluster/timings.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { EngineClusterRig, type RigMember } from "./engine-cluster-rig.ts";
import { newEngine, says, stopEngine, task, workflow } from "./rig.ts";
import { RigWorker } from "./worker-rig.ts";

const one = workflow("one", task("t", "work").withTimeout(3600));

/** What is heard at one member, with its name instead of its id. */
class Ear {
  readonly heard: string[] = [];
  gaps = 0;
  readonly stop: () => void;
  readonly ready: Promise<void>;

  constructor(at: RigMember, members: readonly RigMember[]) {
    const subscription = at.engine.cluster.onWorkerEvent(
      ({ type, worker, member }) => {
        assert.ok(worker.startsWith(`${member}/`));
        this.heard.push(`${type} at ${members.find(({ id }) => id === member)?.name ?? member}`);
      },
      { onGap: () => void this.gaps++ },
    );
    this.stop = subscription;
    this.ready = subscription.ready;
  }
}

async function stage(t: TestContext) {
  const jobs = { remote: new HandJob(), embedded: new HandJob() };
  const [rig, ...members] = await EngineClusterRig.start(t, 3, {
    jobs: [jobs.embedded.job],
    poolSize: 1,
    poolSizeMax: 1,
    remoteWorkers: true,
  });
  const ears = members.map((member) => new Ear(member, members));
  t.after(() => ears.forEach(({ stop }) => stop()));
  await rig.clock.until(Promise.all(ears.map(({ ready }) => ready)));
  const [, b, c] = members;
  const worker = await RigWorker.start(t, rig, { members: [b, c], jobs: [jobs.remote.job], slots: 1 });
  await rig.clock.advance(500);
  return { rig, clock: rig.clock, members, ears, worker, jobs };
}

const assertAll = (ears: readonly Ear[], expected: readonly string[]): void => {
  for (const { heard } of ears) assert.deepEqual(heard, expected);
};

describe("12.2 events of remote workers", () => {
  test("12.2 every member hears of connections, drains and leaves, each once and in order", async (t) => {
    const { rig, clock, members, ears, worker, jobs } = await stage(t);
    assertAll(ears, ["connected at b"]);
    const [a, b] = members;
    const id = await rig.idOn(b);
    await clock.until(b.engine.submitWorkflow(one, { instanceId: id }));
    const call = await clock.until(jobs.remote.call("t", { instanceId: id }));
    const view = b.engine.listWorkers().find(({ isRemote }) => isRemote);
    await clock.until(a.engine.cluster.drain(view?.address ?? ""));
    await clock.advance(2500);
    assertAll(ears, ["connected at b"]);
    call.finish("done");
    await clock.advance(500);
    assertAll(ears, ["connected at b", "drained at b"]);
    void worker.worker.stop();
    await clock.advance(500);
    assertAll(ears, ["connected at b", "drained at b", "gone at b"]);
    assert.deepEqual(
      ears.map(({ gaps }) => gaps),
      [0, 0, 0],
    );
  });

  test("12.2 a silent worker is lost, and one that moves is lost at the first member after it has connected to another", async (t) => {
    const { clock, members, ears, worker } = await stage(t);
    await worker.goTo(members[2]);
    await clock.advance(500);
    assertAll(ears, ["connected at b", "connected at c"]);
    await clock.advance(defaultTimings.workerLostMs);
    assertAll(ears, ["connected at b", "connected at c", "lost at b"]);
    worker.kill();
    await clock.advance(defaultTimings.workerLostMs + 500);
    assertAll(ears, ["connected at b", "connected at c", "lost at b", "lost at c"]);
  });

  test("12.2 a member that dies with a worker is a gap, and the worker connects elsewhere", async (t) => {
    const { clock, members, ears, worker } = await stage(t);
    const [, b, c] = members;
    b.kill();
    worker.loseLink();
    await worker.untilConnected();
    await clock.advance(defaultTimings.suspectMs + defaultTimings.lostMs + 5000);
    for (const ear of [ears[0], ears[2]]) {
      assert.deepEqual(ear?.heard, ["connected at b", "connected at c"]);
      assert.ok(ear.gaps > 0, "events of a lost member may be missing");
    }
    assert.equal(worker.member, c);
  });

  test("12.2 a subscription that has ended hears nothing, and other namespaces neither", async (t) => {
    const { clock, members, ears, worker } = await stage(t);
    const elsewhere: string[] = [];
    const stop = members[0].engine.inNamespace("acme").cluster.onWorkerEvent(({ type }) => void elsewhere.push(type));
    await clock.until(stop.ready);
    ears[0]?.stop();
    void worker.worker.stop();
    await clock.advance(1000);
    stop();
    assert.deepEqual([ears[0]?.heard.length, ears[1]?.heard.length, elsewhere], [1, 2, []]);
  });

  test("12.2 an engine alone has no members to ask, and only functions listen", async () => {
    const engine = newEngine();
    await engine.start();
    const stop = engine.cluster.onWorkerEvent(() => assert.fail("nothing happens"));
    await stop.ready;
    stop();
    assert.throws(
      () => engine.cluster.onWorkerEvent(5 as never),
      says("OPTION_INVALID", "onWorkerEvent takes a function to call, got 5"),
    );
    await stopEngine(engine);
  });
});
