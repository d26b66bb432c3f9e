/** Calls to the owner of a shard: on the same member directly, otherwise through the transport. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError, hasCode } from "../../src/base/error.ts";
import { RegionClusterRig } from "./region-cluster-rig.ts";
import { HandJob } from "./hand-job.ts";
import { task, workflow } from "./workflows.ts";
import { watch } from "./world.ts";

const one = workflow("one", task("a").withTimeout(3600));

describe("a call", () => {
  test("to a shard of the same member does not leave it", async (t) => {
    const [rig, m0] = await RegionClusterRig.start(t, 2, [new HandJob().job]);
    assert.ok(m0);
    await m0.submit(one, "x");
    await m0.calls.callInstance({ type: "UpdateContext", id: "x", patch: { k: "1" } });
    assert.equal(await m0.status("x"), "Running");
    assert.deepEqual(rig.carried, []);
  });

  test("to a shard of another member is carried there", async (t) => {
    const [rig, , m1] = await RegionClusterRig.start(t, 2, [new HandJob().job]);
    assert.ok(m1);
    await m1.submit(one, "x");
    await m1.calls.callInstance({ type: "UpdateContext", id: "x", patch: { k: "1" } });
    assert.deepEqual(rig.carried, ["StartInstance", "UpdateContext"]);
  });

  test("whose shard moves before it is answered is repeated at the next owner, and carried out once", async (t) => {
    const [rig, m0, m1] = await RegionClusterRig.start(t, 2, [new HandJob().job]);
    assert.ok(m0 && m1);
    await m0.submit(one, "x");
    const ended = watch(m0.end("x"));
    await rig.move(m0.region.shardOf("x"), m0, m1);
    await rig.clock.advance(1000);
    assert.deepEqual(rig.carried, ["AwaitEnd"]);
    await m1.calls.callInstance({ type: "TerminateInstance", id: "x", reason: "enough" });
    await rig.clock.advance(1000);
    assert.equal(ended.value, "Terminated");
  });

  test("that starts a new instance is made directly, and repeated if another member may have owned the shard", async (t) => {
    const [rig, m0, m1] = await RegionClusterRig.start(t, 2, [new HandJob().job]);
    assert.ok(m0 && m1);
    const start = (id: string): Promise<void> => m0.submit(one, id, { isGivenId: false });
    await start("first of its definition");
    const gate = m0.store.hold();
    const started = watch(start("x"));
    await rig.clock.settle();
    m0.isLeaseValid = false;
    gate.open();
    await rig.clock.advance(1000);
    assert.deepEqual([started.state, rig.carried], ["waiting", ["StartInstance"]], "its memory may be out of date");
    m0.isLeaseValid = true;
    await rig.clock.advance(1000);
    assert.deepEqual([started.error, await m0.status("x")], [undefined, "Running"]);
    assert.equal(started.state, "done");
  });

  test("that starts a new instance goes to the next owner when the shard is lost", async (t) => {
    const [rig, m0, m1] = await RegionClusterRig.start(t, 2, [new HandJob().job]);
    assert.ok(m0 && m1);
    const start = (id: string): Promise<void> => m0.submit(one, id, { isGivenId: false });
    await start("first of its definition");
    const gate = m0.store.hold();
    const started = watch(start("x"));
    await rig.clock.settle();
    await rig.lose(m0);
    await rig.clock.until(m1.region.openShard(m0.region.shardOf("x")));
    gate.open();
    await rig.clock.advance(1000);
    assert.deepEqual([started.state, started.error, rig.carried], ["done", undefined, ["StartInstance"]]);
    assert.equal(await m1.status("x"), "Running");
  });

  test("that starts a new instance is given up in time, and may land later", async (t) => {
    const [rig, m0] = await RegionClusterRig.start(t, 1, [new HandJob().job]);
    assert.ok(m0);
    const start = (id: string): Promise<void> => m0.submit(one, id, { isGivenId: false });
    await start("first of its definition");
    const gate = m0.store.hold();
    const started = watch(start("x"));
    await rig.clock.advance(61_000);
    assert.ok(
      hasCode(started.error, "CALL_UNANSWERED") && /instance "x" within 60 s; whether/.test(started.error.message),
    );
    gate.open();
    await rig.clock.settle();
    assert.equal(await m0.status("x"), "Running");
    assert.deepEqual(rig.carried, []);
  });

  test("that waits for an instance of this member is rejected when the member stops", async (t) => {
    const [rig, m0] = await RegionClusterRig.start(t, 1, [new HandJob().job]);
    assert.ok(m0);
    await m0.submit(one, "x");
    const ended = watch(m0.end("x"));
    await rig.clock.settle();
    m0.calls.stop(new EngineError("ENGINE_STATE", "the engine was stopped"));
    await rig.clock.settle();
    assert.ok(hasCode(ended.error, "ENGINE_STATE"));
  });

  test("that nobody answers says so, and whether the outcome is unknown", async (t) => {
    const [rig, m0] = await RegionClusterRig.start(t, 1, [new HandJob().job]);
    assert.ok(m0);
    await m0.submit(one, "x");
    m0.store.beforeRead = () => new Promise(() => undefined);
    const gate = m0.store.hold();
    const write = watch(m0.calls.callInstance({ type: "UpdateContext", id: "x", patch: { k: "1" } }));
    const read = watch(m0.calls.callInstance({ type: "GetStatus", id: "x" }));
    await rig.clock.advance(61_000);
    assert.deepEqual(
      [write.error, read.error].map((error) => (error instanceof EngineError ? [error.code, error.message] : error)),
      [
        [
          "CALL_UNANSWERED",
          'no member answered for instance "x" within 60 s; whether the request was carried out is unknown',
        ],
        ["CALL_UNANSWERED", 'no member answered for instance "x" within 60 s'],
      ],
    );
    gate.open();
  });
});
