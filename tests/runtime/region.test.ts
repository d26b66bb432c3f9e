/** Several shards in one region: every instance has its place, and messages find their way between them. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { eventsIn } from "../../src/kernel/event-text.ts";
import { defineJob, type Job } from "../../src/authoring/job.ts";
import { hasCode } from "../../src/base/error.ts";
import { shardOfKey } from "../../src/stores/instance-key.ts";
import { HandJob } from "./hand-job.ts";
import { RegionRig } from "./region-rig.ts";
import { watch } from "./world.ts";
import { builder, chain, nested, task, workflow } from "./workflows.ts";

const shardCount = 4;
const shards = Array.from({ length: shardCount }, (_, shard) => shard);
const children = Array.from({ length: 12 }, (_, place) => `n${place}`);

const done = defineJob("done", () => 1);
const inner = workflow("inner", task("a", "done"), task("b", "done").withDependency("a"));
const family = builder("family", ...children.map((name) => nested(name, inner)))
  .withMaxConcurrentTasks(20)
  .build();

async function unread(rig: RegionRig): Promise<number> {
  return (await rig.disk.inner.loadOutbox(shards)).length;
}

async function places(rig: RegionRig): Promise<number[]> {
  const all = await rig.disk.inner.listInstances({ limit: 1000 });
  return [...new Set(all.map(({ key }) => shardOfKey(key)))].toSorted((one, other) => one - other);
}

/** Each was started once, and ended once. */
async function checkChildren(rig: RegionRig): Promise<void> {
  for (const name of children) {
    const turns = await rig.disk.inner.loadHistory([rig.disk.ledger.key(`x/${name}`)]);
    const types = turns.flatMap(({ events }) => eventsIn(events).map(({ type }) => type));
    assert.equal(types.filter((type) => type === "InstanceCreated").length, 1);
    assert.equal(types.filter((type) => type === "TaskSucceeded").length, 1);
  }
  assert.equal(rig.region.counts.unfinished, 0);
  assert.equal(await unread(rig), 0);
}

for (const laneCount of [1, 2, 3]) {
  describe(`a region of four shards whose commits take ${laneCount} ${laneCount === 1 ? "lane" : "lanes"}`, () => {
    testRegion(laneCount);
  });
}

function testRegion(laneCount: number): void {
  const start = (t: TestContext, ...jobs: readonly Job[]): Promise<RegionRig> =>
    RegionRig.start(t, { shardCount, laneCount, jobs });

  test("spreads instances over all of them, and finds each again", async (t) => {
    const rig = await start(t, done);
    const ids = Array.from({ length: 40 }, (_, place) => `i${place}`);
    for (const id of ids) await rig.submit(inner, id);
    for (const id of ids) assert.equal(await rig.end(id), "Success");
    assert.deepEqual(await places(rig), shards);
    await assert.rejects(rig.end("nobody"), (error) => hasCode(error, "INSTANCE_UNKNOWN"));
  });

  test("carries messages between shards: children start, and their parent hears of their ends", async (t) => {
    const rig = await start(t, done);
    await rig.submit(family, "x");
    assert.equal(await rig.end("x"), "Success");
    assert.deepEqual(await places(rig), shards, "the children live in every shard");
    await rig.clock.settle();
    assert.equal(await unread(rig), 0, "what was read is gone");
  });

  test("carries orders to children in other shards", async (t) => {
    const work = new HandJob();
    const rig = await start(t, work.job);
    const slow = chain("slow", "a");
    const outer = builder("outer", ...children.map((name) => nested(name, slow)))
      .withMaxConcurrentTasks(20)
      .build();
    await rig.submit(outer, "x");
    await rig.clock.settle();
    assert.equal(work.calls.length, children.length);
    await rig.calls.callInstance({ type: "TerminateInstance", id: "x", reason: "enough" });
    await rig.clock.settle();
    for (const { ctx } of work.calls) assert.equal(ctx.signal.aborted, true);
    for (const name of children) assert.equal(await rig.end(`x/${name}`), "Terminated");
    assert.equal(rig.region.counts.unfinished, 0);
  });

  test("holds a workflow's maximum over all its shards", async (t) => {
    const work = new HandJob();
    const rig = await start(t, work.job);
    const limited = builder("limited", task("a")).withMaxInstances(2).build();
    for (const name of children) await rig.submit(limited, name);
    await rig.clock.settle();
    assert.equal(work.calls.length, 2);
    await rig.crash();
    await rig.clock.settle();
    assert.equal(work.calls.length, 4);
    for (let ended = 2; ended < 2 + children.length; ended++) {
      const call = work.calls[ended];
      assert.ok(call, `after ${ended - 2} ends the next one runs`);
      call.finish(1);
      await rig.clock.settle();
    }
    for (const name of children) assert.equal(await rig.end(name), "Success");
  });

  test("restores what each shard has sent before any message is read", async (t) => {
    const work = new HandJob();
    const rig = await start(t, work.job, done);
    const relay = chain("relay", "a");
    const outer = builder(
      "outer",
      ...children.map((name) => nested(name, workflow(`deep ${name}`, nested("m", relay)))),
    )
      .withMaxConcurrentTasks(20)
      .build();
    const gate = rig.store.hold("after");
    watch(rig.submit(outer, "x"));
    await gate.reached();
    // Messages of one shard lie in the store; what each shard has sent takes its time to be read at the next start.
    rig.store.die();
    const reads: string[] = [];
    const begun = rig.begin();
    rig.store.beforeRead = async (what) => {
      reads.push(what);
      if (what === "loadSent") await rig.clock.settle();
    };
    await begun;
    await rig.clock.settle();
    assert.equal(work.calls.length, children.length);
    for (const call of work.calls) call.finish(1);
    assert.equal(await rig.end("x"), "Success");
    assert.equal(reads.filter((what) => what === "loadSent").length, shardCount);
  });

  for (const stage of ["before", "after"] as const) {
    test(`survives a crash ${stage} any of its commits, with every message read exactly once`, async (t) => {
      const note = defineJob("note", () => undefined);
      const small = workflow("small", task("a", "note"));
      const outer = builder("outer", ...children.map((name) => nested(name, small)))
        .withMaxConcurrentTasks(20)
        .build();
      for (let crashAt = 1; ; crashAt++) {
        const rig = await start(t, note);
        let commits = 0;
        rig.store.onSend = () => {
          if (++commits >= crashAt) rig.store.hold(stage);
        };
        const submitted = watch(rig.submit(outer, "x"));
        await rig.clock.settle();
        const isOver = commits < crashAt;
        await rig.crash();
        await rig.clock.settle();
        if (submitted.state !== "done" && (await places(rig)).length === 0) continue;
        assert.equal(await rig.end("x"), "Success", `crash at commit ${crashAt}`);
        await checkChildren(rig);
        if (isOver) return assert.ok(crashAt > 4, `there were ${crashAt - 1} commits`);
      }
    });
  }

  test("an order that was read before a crash is not read again after it", async (t) => {
    const work = new HandJob();
    const rig = await start(t, work.job);
    await rig.submit(workflow("outer", nested("n", chain("slow", "a", "b"))), "x");
    await rig.clock.settle();
    const shardOf = (id: string): number => shardOfKey(rig.disk.ledger.key(id));
    assert.notEqual(shardOf("x"), shardOf("x/n"), "the two live in different shards");
    await rig.calls.callInstance({ type: "PauseInstance", id: "x" });
    await rig.clock.settle();
    await rig.calls.callInstance({ type: "ResumeInstance", id: "x/n" });
    assert.equal(await unread(rig), 0, "whoever read it took it out of the store");
    await rig.crash();
    await rig.clock.advance(1000);
    const { status, pausing } = await rig.calls.callInstance({ type: "GetStatus", id: "x/n" });
    assert.deepEqual([status, pausing], ["Running", false]);
  });

  test("loses one shard to another owner, and the others go on", async (t) => {
    const work = new HandJob();
    const rig = await start(t, work.job);
    const ids = Array.from({ length: 16 }, (_, place) => `i${place}`);
    for (const id of ids) await rig.submit(chain("one", "a"), id);
    await rig.clock.settle();
    await rig.disk.inner.claimShard(2, "somebody else");
    const ends = new Map(ids.map((id) => [id, watch(rig.end(id))]));
    for (const call of work.calls) call.finish(1);
    await rig.clock.advance(1000);
    for (const [id, end] of ends) {
      const isLost = shardOfKey(rig.disk.ledger.key(id)) === 2;
      assert.equal(end.state, isLost ? "failed" : "done", id);
      if (isLost) assert.ok(hasCode(end.error, "STORE_FENCED"));
    }
    assert.deepEqual(
      rig.log.lines.filter(({ message }) => message === "fenced").map(({ fields }) => fields["shard"]),
      [2],
    );
  });
}
