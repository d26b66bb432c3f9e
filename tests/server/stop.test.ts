/** Spec §12.1, §12.6: what a server says of itself, and how it goes. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { EngineError } from "../../src/base/error.ts";
import { memoryStore } from "../../src/testing.ts";
import { ServerRig } from "./rig.ts";

async function health(
  rig: ServerRig,
  part = "",
): Promise<{ status: number; said: { status: string; reason?: string } }> {
  const { status, text } = await rig.fetch(`/actuator/health${part}`);
  return { status, said: JSON.parse(text) as { status: string; reason?: string } };
}

describe("a server that stops", () => {
  test("loses nothing that it accepted", async (t) => {
    const rig = await ServerRig.start(t);
    const { url } = rig.server;
    const accepted: string[] = [];
    let isOver = false;
    const caller = async (): Promise<void> => {
      while (!isOver) {
        try {
          const answer = await fetch(`${url}/api/workflow/pauses/trigger`, { method: "POST" });
          const { data } = (await answer.json()) as { data: { instanceId: string } };
          assert.equal(answer.status, 201);
          accepted.push(data.instanceId);
        } catch (error) {
          // The listener is gone, or goes before a word was said: nothing was accepted.
          assert.match(String(error), /fetch failed/);
          isOver = true;
        }
      }
    };
    const callers = Array.from({ length: 20 }, () => caller());
    while (accepted.length < 50) await new Promise((resolve) => setTimeout(resolve, 20));
    await rig.stop();
    await Promise.all(callers);
    await rig.begin();
    for (const id of accepted) assert.equal((await rig.end(id)).status, "Success");
    const listed = await rig.ok("listInstances", { query: { limit: 1000 } });
    assert.ok(listed.items.length >= accepted.length);
    assert.deepEqual(rig.problems, []);
  });

  test("answers those who wait for a result, and gives what runs its time", async (t) => {
    const rig = await ServerRig.start(t, { drainSeconds: 1 });
    const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "holds" } });
    const waiting = rig.ok("getResult", { params: { id }, query: { waitMs: 30_000 } });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const startedAt = Date.now();
    await rig.stop();
    assert.equal((await waiting).hasEnded, false);
    assert.ok(Date.now() - startedAt >= 1000);
    await rig.begin();
    assert.equal((await rig.ok("getInstance", { params: { id } })).status, "Running");
  });

  test("is not held up by those who watch", async (t) => {
    const rig = await ServerRig.start(t, { drainSeconds: 20 });
    const { url } = rig.server;
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    const stream = await fetch(`${url}/api/events?all`);
    const startedAt = Date.now();
    await rig.stop();
    assert.ok(Date.now() - startedAt < 10_000);
    await closed;
    await stream.text();
  });

  test("is told to by an admin, and says so first", async (t) => {
    const rig = await ServerRig.start(t);
    const { status, text } = await rig.fetch("/actuator/shutdown", { method: "POST" });
    assert.equal(status, 200);
    assert.match(text, /stopping/);
    await rig.server.stopped;
    await assert.rejects(rig.fetch("/actuator/health"));
    await rig.begin();
    const { items } = await rig.ok("listAudit");
    assert.equal(items[0]?.what, "shutdown");
  });
});

describe("health", () => {
  test("tells the truth about the store, and what was asked for meanwhile is done when it is back", async (t) => {
    const store = memoryStore();
    const commit = store.commit.bind(store);
    let isAway = false;
    store.commit = async (batch) => {
      if (isAway) throw new EngineError("STORE_UNAVAILABLE", "the disk is on holiday");
      await commit(batch);
    };
    const rig = await ServerRig.start(t, { store });
    assert.deepEqual(await health(rig), { status: 200, said: { status: "UP", reason: null, engine: "up" } });
    isAway = true;
    const pending = rig.ok("triggerWorkflow", { params: { id: "hello" } });
    let ready = await health(rig, "/readiness");
    while (ready.status === 200) ready = await health(rig, "/readiness");
    assert.deepEqual([ready.status, ready.said.status], [503, "OUT_OF_SERVICE"]);
    assert.match(ready.said.reason ?? "", /on holiday/);
    assert.equal((await health(rig, "/liveness")).status, 200);
    const { status, headers, envelope } = await rig.send("triggerWorkflow", { params: { id: "hello" } });
    assert.deepEqual([status, envelope.code, headers.get("retry-after")], [503, "STORE_UNAVAILABLE", "1"]);
    isAway = false;
    assert.equal((await rig.end((await pending).instanceId)).status, "Success");
    assert.equal((await health(rig)).status, 200);
  });

  test("metrics and info are there", async (t) => {
    const rig = await ServerRig.start(t);
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "hello" } });
    await rig.end(instanceId);
    for (const path of ["/metrics", "/actuator/prometheus"]) {
      assert.match((await rig.fetch(path)).text, /dag_workflow_submitted_total\{[^}]*workflow="hello"[^}]*\} 1/);
    }
    const { text } = await rig.fetch("/actuator/metrics/dag_workflow_submitted_total");
    assert.match(text, /"type":"counter"/);
    for (const name of ["none", "constructor", "__proto__", "toString", "hasOwnProperty"])
      assert.equal((await rig.fetch(`/actuator/metrics/${name}`)).envelope.code, "NOT_FOUND", name);
    assert.match((await rig.fetch("/actuator/metrics")).text, /dag_queue_waiting_size/);
    assert.match((await rig.fetch("/actuator/info")).text, /"name":"heddle"/);
  });

  test("a port that is taken is named, and the store is free again", async (t) => {
    const rig = await ServerRig.start(t);
    await rig.stop();
    const other = createServer().listen(0, "127.0.0.1");
    t.after(() => other.close());
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    await assert.rejects(rig.begin({ port }), new RegExp(`port ${port}`));
    await rig.begin();
  });
});

describe("the reference", () => {
  test("12.1 is there for programs and for people", async (t) => {
    const rig = await ServerRig.start(t);
    const document = JSON.parse((await rig.fetch("/api/openapi.json")).text) as {
      openapi: string;
      paths: Record<string, Record<string, { operationId: string; parameters: { name: string }[] }>>;
    };
    assert.equal(document.openapi, "3.1.0");
    const trigger = document.paths["/api/workflow/{id}/trigger"]?.["post"];
    assert.deepEqual(
      [trigger?.operationId, trigger?.parameters.map(({ name }) => name)],
      ["triggerWorkflow", ["id", "instanceId", "app", "maxConcurrentTasks", "Idempotency-Key", "X-Heddle-Namespace"]],
    );
    const { text, headers } = await rig.fetch("/api/docs");
    assert.match(headers.get("content-type") ?? "", /^text\/html/);
    assert.doesNotMatch(text, /<script|https?:\/\//);
    assert.match(text, /triggerWorkflow/);
    assert.match((await rig.fetch("/api/docs/style.css")).headers.get("content-type") ?? "", /^text\/css/);
  });
});
