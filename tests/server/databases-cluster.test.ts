/** Two servers on one PostgreSQL are one service: whichever is asked, and also while one of them stops. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storage } from "../../src/storage.ts";
import { newDatabase } from "../databases/databases.ts";
import { ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

const token = "root";

async function twoMembers(t: TestContext): Promise<[ServerRig, ServerRig]> {
  // Before the database is dropped.
  const stopped = new AsyncDisposableStack();
  t.after(() => stopped.disposeAsync());
  const url = await newDatabase("postgres", t);
  const cluster = { enabled: true, shards: 8, remoteWorkers: false };
  const begin = async (): Promise<ServerRig> => {
    const rig = await ServerRig.start(t, { cluster, adminToken: token, store: await storage(url) });
    stopped.defer(() => rig.stop());
    return rig;
  };
  return [await begin(), await begin()];
}

async function within<Value>(ms: number, look: () => Promise<Value | undefined | false>): Promise<Value> {
  for (const end = performance.now() + ms; ; await sleep(50)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    assert.ok(performance.now() < end, `it did not come to be within ${ms} ms`);
  }
}

test("12.1 two servers on PostgreSQL answer as one", { timeout: 60_000 }, async (t) => {
  const [one, other] = await twoMembers(t);
  const rigs = [one, other];

  await t.test("each knows both members, and their pools as workers", async () => {
    for (const rig of rigs) {
      const cluster = await within(10_000, async () => {
        const seen = await rig.ok("getCluster", { token });
        return seen.totalMembers === 2 && seen.workerCount === 2 && seen;
      });
      assert.deepEqual([cluster.upMembers, cluster.workerCount], [2, 2]);
      assert.ok(cluster.members.some(({ address }) => address === cluster.selfAddress));
      const items = await rig.ok("listWorkers", { token });
      assert.deepEqual(
        items.map(({ address, status }) => [address, status]),
        cluster.members.map(({ address }) => [address, "up"]).sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)),
      );
    }
    const [here, there] = [await one.ok("getCluster", { token }), await other.ok("getCluster", { token })];
    assert.equal(here.leader, there.leader);
    assert.notEqual(here.selfAddress, there.selfAddress);
  });

  await t.test("what was started here is seen and operated there", async () => {
    for (let count = 0; count < 2; count++) {
      const { instanceId: id } = await one.ok("triggerWorkflow", { token, params: { id: "talk" }, body: {} });
      const of = { token, params: { id } };
      assert.equal((await other.ok("getInstance", of)).status, "Running");
      assert.equal(await other.ok("updateInstance", { token, params: { id, name: "add" }, body: 3 }), 3);
      assert.equal(await one.ok("queryInstance", { token, params: { id, name: "words" } }), 3);
      await other.ok("pauseInstance", of);
      await within(3000, async () => (await one.ok("getInstance", of)).status === "Paused");
      await other.ok("resumeInstance", of);
      await other.ok("raiseEvent", { token, params: { id, name: "go" }, body: "now" });
      for (const rig of rigs) {
        assert.deepEqual((await rig.end(id, { token })).output, { said: "first", heard: "now", words: 3 });
        // Log lines are written a moment after the end that they belong to.
        await within(3000, async () => {
          const { items } = await rig.ok("getLogs", of);
          return items.map(({ message }) => message).join() === "said";
        });
      }
    }
  });

  await t.test("what is saved here can be started there, and a token of here is let in there", async () => {
    const workflow = { token, body: { name: "two", dagSpec: twoNodes }, key: "w" };
    await Promise.all(rigs.map((rig) => rig.ok("createWorkflow", workflow)));
    const ann = await one.ok("createToken", { token, body: { name: "ann", role: "operator" } });
    const found = await within(8000, async () => {
      const { status, envelope } = await other.send("triggerWorkflow", { token, params: { id: "two" } });
      return status === 201 && (envelope.data as { instanceId: string }).instanceId;
    });
    assert.equal((await one.end(found, { token })).status, "Success");
    await within(8000, async () => (await other.send("getCluster", { token: ann.token })).status === 200);
    const lines = async (rig: ServerRig): Promise<unknown[]> => {
      const { items } = await rig.ok("listAudit", { token, query: { limit: 50 } });
      return items.map(({ who, what, status }) => `${who} ${what} ${status}`);
    };
    await other.ok("triggerWorkflow", { token: ann.token, params: { id: "hello" } });
    assert.deepEqual(await lines(one), await lines(other));
    const told = new Set(await lines(one));
    const expected = ["ann triggerWorkflow 201", "environment createToken 201", "environment raiseEvent 200"];
    for (const line of expected) assert.ok(told.has(line), `${line} is not among ${[...told].join(", ")}`);
  });

  await t.test("a key that comes again at the other member starts nothing new", async () => {
    for (let count = 0; count < 3; count++) {
      const sent = { token, params: { id: "hello" }, body: { count }, key: `k${count}` };
      const both = await Promise.all([one, other, one, other].map((rig) => rig.ok("triggerWorkflow", sent)));
      assert.equal(new Set(both.map(({ instanceId }) => instanceId)).size, 1);
      await other.refused("triggerWorkflow", { ...sent, body: {} }, { status: 409, code: "IDEMPOTENCY_KEY_REUSED" });
    }
    const body = { scheduleId: "s", workflow: "hello", every: { cron: "0 0 1 1 *" } };
    await Promise.all(rigs.map((rig) => rig.ok("createSchedule", { token, body, key: "s" })));
    const run = { token, params: { id: "s" }, key: "r" };
    const [here, there] = await Promise.all(rigs.map((rig) => rig.ok("triggerSchedule", run)));
    assert.deepEqual(here, there);
    await other.end(there?.instanceId ?? "", { token });
    const { items } = await one.ok("listInstances", { token, query: { workflow: "hello" } });
    assert.equal(items.length, 5);
  });

  await t.test("one stops under load: nothing that it accepted is lost", async () => {
    const accepted: string[] = [];
    const over = new AbortController();
    let refusals = 0;
    const load = async (rig: ServerRig, url: string): Promise<void> => {
      while (!over.signal.aborted) {
        const answer = await trigger(url).catch(() => undefined);
        if (answer === undefined) {
          // Its door is closed. The other's never is.
          assert.equal(rig, one);
          return;
        }
        if (answer.status === 201) accepted.push(((await answer.json()) as Accepted).data.instanceId);
        else {
          refusals++;
          assert.equal(answer.status, 503, await answer.text());
        }
      }
    };
    const loads = rigs.flatMap((rig) => [1, 2, 3].map(() => load(rig, rig.server.url)));
    await sleep(700);
    await one.stop();
    await sleep(500);
    over.abort();
    await Promise.all(loads);
    t.diagnostic(`${accepted.length} instances, ${refusals} refusals`);
    assert.ok(accepted.length > 20);
    const ends = await Promise.all(accepted.map((id) => other.end(id, { token })));
    assert.deepEqual(new Set(ends.map(({ status }) => status)), new Set(["Success"]));
    await within(10_000, async () => (await other.ok("getCluster", { token })).totalMembers === 1);
    assert.equal((await other.ok("getCluster", { token })).upMembers, 1);
  });
  assert.deepEqual(
    rigs.flatMap(({ problems }) => problems),
    [],
  );
});

interface Accepted {
  readonly data: { readonly instanceId: string };
}

async function trigger(url: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` };
  return await fetch(`${url}/api/workflow/pauses/trigger`, { method: "POST", headers });
}
