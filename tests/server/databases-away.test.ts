/** The way to PostgreSQL is gone for a while: the server says so, refuses what it cannot keep, and goes on afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storage } from "../../src/storage.ts";
import { newDatabase } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { type Answered, ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

interface Readiness {
  readonly status: number;
  readonly reason: string | null;
}

async function readiness(rig: ServerRig): Promise<Readiness> {
  const { status, text } = await rig.fetch("/actuator/health/readiness");
  return { status, reason: (JSON.parse(text) as { reason: string | null }).reason };
}

/** How long it took. */
async function untilReady(rig: ServerRig, expected: boolean, ms: number): Promise<number> {
  for (const began = performance.now(); ; await sleep(50)) {
    const tookMs = Math.round(performance.now() - began);
    if (((await readiness(rig)).status === 200) === expected) return tookMs;
    assert.ok(tookMs < ms, `readiness did not change within ${ms} ms`);
  }
}

const outages = {
  "connections are refused": {
    begin: (proxy: Proxy): void => {
      proxy.refuse();
      proxy.cut();
    },
    end: (proxy: Proxy): Promise<void> => proxy.accept(),
  },
  "nothing passes": {
    begin: (proxy: Proxy): void => proxy.hold("requests", "answers"),
    end: async (proxy: Proxy): Promise<void> => proxy.letGo(),
  },
} as const;

for (const [name, outage] of Object.entries(outages)) {
  test(`13 ${name}: not ready, writes are refused with 503, and all goes on`, { timeout: 60_000 }, async (t) => {
    // Before the database is dropped.
    const stopped = new AsyncDisposableStack();
    t.after(() => stopped.disposeAsync());
    const proxy = await Proxy.to(await newDatabase("postgres", t));
    stopped.defer(() => proxy.close());
    const cluster = { enabled: true, shards: 4, remoteWorkers: false };
    const rig = await ServerRig.start(t, { cluster, store: await storage(proxy.url) });
    stopped.defer(() => rig.stop());
    assert.deepEqual(await readiness(rig), { status: 200, reason: null });
    const { instanceId: talk } = await rig.ok("triggerWorkflow", { params: { id: "talk" } });
    const { instanceId: ended } = await rig.ok("triggerWorkflow", { params: { id: "hello" } });
    await rig.end(ended);

    outage.begin(proxy);
    const accepted: string[] = [];
    const answers: Answered[] = [];
    const note = async (sent: Promise<Answered>): Promise<void> => {
      const answer = await sent;
      answers.push(answer);
      const { status, envelope } = answer;
      if (status === 201) accepted.push((envelope.data as { instanceId: string }).instanceId);
    };
    // Nobody knows yet: what is sent now may still land.
    const early = [1, 2, 3].map((n) =>
      note(rig.send("triggerWorkflow", { params: { id: "hello" }, key: `early${n}` })),
    );
    const tookMs = await untilReady(rig, false, 10_000);
    const { reason } = await readiness(rig);
    assert.match(reason ?? "", /database|store|does not/i);
    t.diagnostic(`not ready after ${tookMs} ms: ${reason}`);
    assert.equal((await rig.fetch("/actuator/health/liveness")).status, 200);
    const body = { scheduleId: "s", workflow: "hello", every: { cron: "0 0 * * *" } };
    const began = performance.now();
    const writes = await Promise.all([
      rig.send("triggerWorkflow", { params: { id: "hello" } }),
      rig.send("raiseEvent", { params: { id: talk, name: "go" }, body: "lost" }),
      rig.send("pauseInstance", { params: { id: talk } }),
      rig.send("createWorkflow", { body: { name: "two", dagSpec: twoNodes }, key: "w" }),
      rig.send("createSchedule", { body, key: "s" }),
      rig.send("createToken", { body: { name: "ann", role: "admin" } }),
    ]);
    t.diagnostic(`refused within ${Math.round(performance.now() - began)} ms`);
    for (const { status, headers, text } of writes) {
      assert.equal(status, 503, text);
      assert.ok(Number(headers.get("retry-after")) >= 1, "it says when to come again");
    }
    const reads = await Promise.all([
      rig.send("listInstances"),
      rig.send("getInstance", { params: { id: talk } }),
      rig.send("getInstance", { params: { id: ended } }),
      rig.send("getLogs", { params: { id: ended } }),
      rig.send("listWorkflows"),
      rig.send("getCluster"),
      rig.fetch("/metrics"),
    ]);
    // What is in memory is told; the rest, and soon, that it cannot be.
    for (const { status, text } of reads) assert.ok([200, 503, 504].includes(status), text);
    t.diagnostic(`reads: ${reads.map(({ status }) => status).join(", ")}`);

    await outage.end(proxy);
    t.diagnostic(`ready again after ${await untilReady(rig, true, 15_000)} ms`);
    await Promise.all(early);
    for (const { status, text } of answers) assert.ok(status === 201 || status === 503, text);
    for (const id of accepted) assert.equal((await rig.end(id)).status, "Success");
    for (const n of [1, 2, 3]) {
      const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "hello" }, key: `early${n}` });
      assert.equal((await rig.end(instanceId)).status, "Success");
    }
    await rig.ok("createWorkflow", { body: { name: "two", dagSpec: twoNodes }, key: "w" });
    await rig.ok("createSchedule", { body, key: "s" });
    await rig.ok("raiseEvent", { params: { id: talk, name: "go" }, body: "again" });
    assert.equal((await rig.end(talk)).status, "Success");
    assert.ok(!rig.problems.some((problem) => problem.includes("internal error")), rig.problems.join("\n"));
  });
}
