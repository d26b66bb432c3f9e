import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob } from "../../src/index.ts";
import { ChangeFeed } from "../../src/server/push/change-feed.ts";
import type { Cursor } from "../../src/server/push/cursor.ts";
import type { Outlet } from "../../src/server/push/outlet.ts";
import { EngineClusterRig } from "../engine/engine-cluster-rig.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { chainOf, type PushedChange } from "./push-rig.ts";

/** Keeps all it hears. */
class Ear implements Outlet {
  readonly client = this;
  readonly bufferedBytes = 0;
  readonly heard: PushedChange[] = [];
  readonly dropped: string[] = [];
  cursor: Cursor | undefined;
  readonly sendChanges: Outlet["sendChanges"] = ({ entries, cursor }) => {
    this.cursor = cursor;
    this.heard.push(...entries.map(({ text }) => JSON.parse(text) as PushedChange));
  };
  readonly sendResync = (): void => undefined;
  readonly sendSkipped = (): void => undefined;
  readonly sendProgress = (): void => undefined;
  readonly drop: Outlet["drop"] = ({ message }) => void this.dropped.push(message);

  /** Of changes, not of how it stands. */
  get turns(): number[] {
    return this.heard.filter(({ resync }) => resync === undefined).map(({ turn }) => turn);
  }
}

describe("in a cluster", () => {
  test("an instance is followed at any member, also while it moves", async (t) => {
    const work = new HandJob();
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [work.job, defineJob("noOp", () => undefined)] });
    const { clock } = rig;
    const feeds = [a, b, c].map(({ engine }) => new ChangeFeed({ engine, clock }));
    t.after(() => feeds.forEach((feed) => feed.stop()));
    const ears = feeds.map(() => new Ear());
    const instanceId = await rig.idOn(b);
    feeds.forEach((feed, index) => feed.follow({ instanceId }, ears[index] ?? new Ear()));
    const flow = chainOf("chain", 4, "work");
    await clock.until(a.engine.submitWorkflow(flow, { instanceId }));
    for (const step of [0, 1]) (await clock.until(work.call(`t${step}`, { instanceId }))).finish(step);
    await clock.advance(3000);
    // Its member leaves, and another one goes on.
    work.onCall = (call) => call.finish();
    feeds[1]?.stop();
    await rig.stop(b);
    await rig.until(a, instanceId, ({ status }) => status === "Success");
    await clock.advance(5000);
    const history = await clock.until(a.engine.getWorkflowInstanceHistory(instanceId));
    const expected = history.map(({ turn }) => turn);
    for (const ear of [ears[0], ears[2]]) {
      assert.deepEqual(ear?.turns, expected);
      assert.equal(ear.heard.at(-1)?.status, "Success");
      assert.deepEqual(ear.dropped, []);
    }
  });

  test("a client that comes back to another member has each turn once", async (t) => {
    const work = new HandJob();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job] });
    const { clock } = rig;
    const [first, second] = [new ChangeFeed({ engine: a.engine, clock }), new ChangeFeed({ engine: b.engine, clock })];
    const instanceId = await rig.idOn(a);
    const ears = [new Ear(), new Ear(), new Ear()] as const;
    const at = first.follow({ instanceId }, ears[0]);
    await clock.until(a.engine.submitWorkflow(chainOf("chain", 3, "work"), { instanceId }));
    (await clock.until(work.call("t0", { instanceId }))).finish(0);
    await clock.until(work.call("t1", { instanceId }));
    await clock.advance(2000);
    at.stop();
    const then = second.follow({ instanceId }, ears[1], ears[0].cursor);
    (await clock.until(work.call("t1", { instanceId }))).finish(1);
    await clock.until(work.call("t2", { instanceId }));
    await clock.advance(2000);
    then.stop();
    first.follow({ instanceId }, ears[2], ears[1].cursor);
    (await clock.until(work.call("t2", { instanceId }))).finish(2);
    await rig.until(a, instanceId, ({ status }) => status === "Success");
    await clock.advance(3000);
    const history = await clock.until(a.engine.getWorkflowInstanceHistory(instanceId));
    assert.deepEqual(
      ears.flatMap(({ turns }) => turns),
      history.map(({ turn }) => turn),
    );
    first.stop();
    second.stop();
  });
});
