/** Spec §8.4 and §12.6: a caller in one namespace cannot see, change or infer anything of another, by any route. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { routes } from "../../src/api/routes.ts";
import type { Role } from "../../src/api/route.ts";
import { until } from "../support/until.ts";
import { ServerRig, type Sent } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import { validRequests } from "./valid-requests.ts";

const root = "hdl_root_secret_of_the_test";
const inAcme = { token: root, headers: { "x-heddle-namespace": "acme" } };

function bound(name: string, namespace: string, role: Role): { token: string; given: object } {
  const token = `hdl_${name}`;
  return { token, given: { name, role, namespace, sha256: createHash("sha256").update(token).digest("hex") } };
}

const globexAdmin = bound("globex-admin", "globex", "admin");
const globexViewer = bound("globex-viewer", "globex", "viewer");
const acmeOperator = bound("acme-operator", "acme", "operator");

async function startRig(t: TestContext): Promise<ServerRig> {
  const tokens = [globexAdmin, globexViewer, acmeOperator].map(({ given }) => given) as never;
  return await ServerRig.start(t, { adminToken: root, namespaces: ["acme", "globex"], tokens });
}

/** Fills namespace acme with things whose names all contain "canary". */
async function fill(rig: ServerRig): Promise<void> {
  await rig.ok("createWorkflow", { ...inAcme, body: { name: "canary-flow", dagSpec: twoNodes } });
  await rig.ok("triggerWorkflow", {
    ...inAcme,
    params: { id: "holds" },
    query: { instanceId: "canary-1", app: "canary-app" },
  });
  await rig.ok("triggerWorkflow", { ...inAcme, params: { id: "talk" }, query: { instanceId: "canary-talk" } });
  await rig.ok("triggerWorkflow", { ...inAcme, params: { id: "canary-flow" }, query: { instanceId: "canary-done" } });
  await rig.end("canary-done", inAcme);
  const every = { rateMs: 3_600_000 };
  await rig.ok("createSchedule", {
    ...inAcme,
    body: { scheduleId: "canary-schedule", workflow: "canary-flow", every },
  });
  await rig.ok("resizeDomain", { ...inAcme, params: { name: "canary-domain" }, body: { size: 1 } });
  await rig.ok("createToken", { token: root, body: { name: "canary-token", role: "operator", namespace: "acme" } });
}

/** Everything in acme, except values that change by themselves. */
async function contents(rig: ServerRig): Promise<unknown> {
  const still = ["canary-1", "canary-talk", "canary-done"];
  const views = await Promise.all(still.map((id) => rig.ok("getHistory", { ...inAcme, params: { id } })));
  return {
    views,
    instances: (await rig.ok("listInstances", inAcme)).items,
    workflows: (await rig.ok("listWorkflows", inAcme)).items,
    schedules: (await rig.ok("listSchedules", inAcme)).items.map(({ scheduleId, isEnabled }) => [
      scheduleId,
      isEnabled,
    ]),
    domains: (await rig.ok("listDomains", inAcme)).items.map(({ domain, size, priority }) => [domain, size, priority]),
    tokens: (await rig.ok("listTokens", { token: root })).items,
  };
}

/** An answer without what differs between two requests anyway: names that were sent, ids, numbers and times. */
function shapeOf(text: string, subject: string): string {
  return text
    .replaceAll(subject, "SUBJECT")
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "UUID")
    .replaceAll(/"version":"\w*"/g, "VERSION")
    .replaceAll(/key:[\w-]+/g, "KEY")
    .replaceAll(/"cursor":"[^"]*"|"next":"[^"]*"/g, "CURSOR")
    .replaceAll(/\d+/g, "#");
}

const idOfSubject = (subject: string, instance: string) => ({
  instance: instance.replace("canary", subject),
  workflow: `${subject}-flow`,
  schedule: `${subject}-schedule`,
  token: `${subject}-token`,
});

describe("8.4 a caller of another namespace", () => {
  test("8.4 gets from every route the same answer as if nothing were there, and changes nothing", async (t) => {
    const rig = await startRig(t);
    await fill(rig);
    const before = await contents(rig);
    for (const instance of ["canary-1", "canary-talk", "canary-done", "schedule:canary-schedule"]) {
      const given = validRequests(idOfSubject("canary", instance));
      const absent = validRequests(idOfSubject("nobody", instance));
      for (const name of Object.keys(paths) as RouteName[]) {
        // Lists grow with what the requests before made, so they are looked through instead.
        const sent: Sent = { ...given[name], token: globexAdmin.token };
        const { status, text } = await rig.send(name, sent);
        const own = JSON.stringify(sent).includes("canary");
        // The audit log has the caller's own requests.
        if (!own && name !== "listAudit")
          assert.ok(!text.replaceAll(/canary-(flow|schedule|token)-new/g, "").includes("canary"), `${name}: ${text}`);
        assert.doesNotMatch(text, /acme|@\w+\//, name);
        if (!own) continue;
        const other = await rig.send(name, { ...absent[name], token: globexAdmin.token });
        assert.equal(status, other.status, `${name}: ${text} beside ${other.text}`);
        assert.equal(shapeOf(text, "canary"), shapeOf(other.text, "nobody"), name);
      }
    }
    assert.deepEqual(await contents(rig), before);
  });

  test("8.4 is refused the namespace itself, by header and query, with the same words for all", async (t) => {
    const rig = await startRig(t);
    const refused = new Set<string>();
    for (const name of Object.keys(paths) as RouteName[]) {
      if (routes[name].role === "worker") continue;
      for (const namespace of ["acme", "default", "never-used"]) {
        const sent = { ...validRequests(idOfSubject("canary", "canary-1"))[name], token: globexAdmin.token };
        const { status, envelope } = await rig.send(name, { ...sent, headers: { "x-heddle-namespace": namespace } });
        assert.equal(status, 403, name);
        refused.add(String(envelope.message));
      }
    }
    assert.deepEqual([...refused], ['"globex-admin" is bound to namespace "globex" and acts in no other']);
    const { status } = await rig.fetch("/api/events?all&namespace=acme", {
      headers: { authorization: `Bearer ${globexViewer.token}` },
    });
    assert.equal(status, 403);
    await rig.refused(
      "listInstances",
      { token: root, headers: { "x-heddle-namespace": "@acme" } },
      { status: 400, code: "REQUEST_INVALID" },
    );
  });

  test("8.4 changes nothing that namespaces share, whatever its role", async (t) => {
    const rig = await startRig(t);
    const given = validRequests(idOfSubject("canary", "canary-1"));
    const shared = (Object.keys(paths) as RouteName[]).filter((name) => "isShared" in routes[name]);
    assert.deepEqual(shared.toSorted(), [
      "createToken",
      "deleteToken",
      "drain",
      "listTokens",
      "resizeDomain",
      "resizePool",
    ]);
    for (const name of shared) {
      const { envelope } = await rig.send(name, { ...given[name], token: globexAdmin.token });
      assert.equal(envelope.message, 'that concerns all namespaces, and "globex-admin" is bound to namespace "globex"');
    }
    for (const path of ["/metrics", "/actuator/prometheus", "/actuator/metrics", "/actuator/info"]) {
      const { status } = await rig.fetch(path, { headers: { authorization: `Bearer ${globexAdmin.token}` } });
      assert.equal(status, 403, path);
    }
    const stop = { method: "POST", headers: { authorization: `Bearer ${globexAdmin.token}` } };
    assert.equal((await rig.fetch("/actuator/shutdown", stop)).status, 403);
  });

  test("8.4 hears nothing of it by push and log streams, and its audit log has its own lines only", async (t) => {
    const rig = await startRig(t);
    const headers = { authorization: `Bearer ${globexViewer.token}` };
    const controller = new AbortController();
    const heard: string[] = [];
    const stream = await fetch(`${rig.server.url}/api/events?all`, { headers, signal: controller.signal });
    const reading = (async () => {
      for await (const chunk of stream.body ?? []) heard.push(Buffer.from(chunk as Uint8Array).toString());
    })().catch(() => undefined);
    await fill(rig);
    const ofInstance = await rig.fetch("/api/instance/canary-1/logs/stream", { headers });
    assert.equal(ofInstance.status, 404);
    const own = await rig.ok("triggerWorkflow", { token: globexAdmin.token, params: { id: "hello" } });
    await until(() => heard.join("").includes(own.instanceId));
    controller.abort();
    await reading;
    assert.doesNotMatch(heard.join(""), /canary|acme|@\w+\//);
    // A cursor counts the changes of its own namespace only.
    assert.match(heard.join(""), /"seq":1\b/);
    const audit = await rig.ok("listAudit", { token: globexAdmin.token, query: { limit: 100 } });
    assert.deepEqual(
      audit.items.map(({ what, namespace }) => [what, namespace]),
      [["triggerWorkflow", "globex"]],
    );
    const all = await rig.ok("listAudit", { token: root, query: { limit: 100 } });
    assert.ok(all.items.some(({ namespace, target }) => namespace === "acme" && target === "canary-domain"));
  });

  test("8.4 reads nothing in the audit log about what concerns all namespaces, be it bound to default", async (t) => {
    const admin = bound("default-admin", "default", "admin");
    const rig = await ServerRig.start(t, { adminToken: root, tokens: [admin.given] as never });
    const given = validRequests(idOfSubject("canary", "canary-1"));
    const shared = (Object.keys(paths) as RouteName[]).filter((name) => "isShared" in routes[name]);
    const body = { name: "globex-secret", role: "operator", namespace: "globex" };
    await rig.ok("createToken", { token: root, body });
    for (const name of shared) if (name !== "resizeDomain") await rig.send(name, { ...given[name], token: root });
    const signIn = { method: "POST", headers: { "content-type": "application/json" } };
    await rig.fetch("/api/session", { ...signIn, body: JSON.stringify({ token: root }) });
    await rig.fetch("/api/session", { ...signIn, body: JSON.stringify({ token: admin.token }) });
    await rig.send("createToken", { token: admin.token, body });
    const listed = async (token: string): Promise<unknown[]> => {
      const { items } = await rig.ok("listAudit", { token, query: { limit: 100 } });
      return items.map(({ who, what, status, namespace }) => [who, what, status, namespace]);
    };
    assert.deepEqual(await listed(admin.token), [
      ["default-admin", "createToken", 403, "default"],
      ["default-admin", "signIn", 200, "default"],
    ]);
    const all = await listed(root);
    for (const what of ["createToken", "deleteToken", "drain", "resizePool", "signIn"]) {
      assert.ok(
        all.some((line) => Array.isArray(line) && line[0] === "environment" && line[1] === what),
        what,
      );
    }
  });

  test("8.4 uses the same ids and idempotency keys without meeting the others", async (t) => {
    const rig = await startRig(t);
    const send = async (sent: Sent): Promise<string> => {
      const given = { ...sent, key: "the-same-key" };
      const { instanceId } = await rig.ok("triggerWorkflow", { ...given, params: { id: "hello" }, body: { at: 1 } });
      const { name } = await rig.ok("createWorkflow", { ...given, body: { name: "mine", dagSpec: twoNodes } });
      assert.equal(name, "mine");
      return instanceId;
    };
    await send({ token: root });
    await send(inAcme);
    await send({ token: root, headers: { "x-heddle-namespace": "globex" } });
    for (const namespace of ["default", "acme", "globex"]) {
      const sent = { token: root, headers: { "x-heddle-namespace": namespace } };
      assert.equal((await rig.ok("listInstances", sent)).items.length, 1, namespace);
      const { items } = await rig.ok("listWorkflows", { ...sent, query: { search: "mine" } });
      assert.equal(items.length, 1, namespace);
    }
  });

  test("8.4 saved workflows and schedules of every namespace are there again after a restart", async (t) => {
    const rig = await startRig(t);
    await fill(rig);
    const before = await contents(rig);
    const tokens = [globexAdmin, globexViewer, acmeOperator].map(({ given }) => given) as never;
    await rig.restart({ adminToken: root, namespaces: ["acme", "globex"], tokens });
    const after = await contents(rig);
    assert.deepEqual(Object.keys(after as object), Object.keys(before as object));
    const { items } = await rig.ok("listWorkflows", { ...inAcme, query: { search: "canary" } });
    assert.deepEqual(
      items.map(({ name }) => name),
      ["canary-flow"],
    );
    const { instanceId } = await rig.ok("triggerWorkflow", {
      token: acmeOperator.token,
      params: { id: "canary-flow" },
    });
    assert.equal((await rig.end(instanceId, { token: acmeOperator.token })).status, "Success");
    assert.deepEqual((await rig.ok("listInstances", { token: root })).items, []);
    const named = async (token: string): Promise<string[]> => {
      await rig.ok("listWorkflows", { token: root, headers: { "x-heddle-namespace": "typed-by-somebody" } });
      return (await rig.ok("listNamespaces", { token })).items.map(({ name }) => name);
    };
    assert.deepEqual(await named(root), ["acme", "default", "globex"]);
    assert.deepEqual(await named(globexViewer.token), ["globex"]);
  });

  test("8.4 metrics have the namespace as a label", async (t) => {
    const rig = await startRig(t);
    await fill(rig);
    const { text } = await rig.fetch("/metrics", { headers: { authorization: `Bearer ${root}` } });
    assert.match(text, /dag_workflow_submitted_total\{namespace="acme",workflow="canary-flow"\} 1/);
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The bytes that are in use, without what nobody can reach any more. */
async function heapBytes(): Promise<number> {
  // Timers and closed sockets are let go in later turns of the loop.
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

describe("8.4 a namespace that is merely named", () => {
  test("8.4 leaves nothing behind, whatever is read there", async (t) => {
    const rig = await ServerRig.start(t);
    const given = validRequests(idOfSubject("canary", "canary-1"));
    const reads = (Object.keys(paths) as RouteName[]).filter((name) => routes[name].role === "viewer");
    const read = async (name: RouteName, namespace: string): Promise<void> => {
      await rig.send(name, { ...given[name], headers: { "x-heddle-namespace": namespace } });
    };
    // The first round makes what all namespaces share.
    for (const name of reads) await read(name, "first");
    const before = await heapBytes();
    const namesPerRead = 5;
    for (const name of reads) {
      for (let number = 0; number < namesPerRead; number++) await read(name, `of-${name.toLowerCase()}-${number}`);
    }
    for (let number = 0; number < 50; number++) {
      await rig.fetch(`/api/instance/x/logs/stream?namespace=log-${number}`);
      const controller = new AbortController();
      const stream = await fetch(`${rig.server.url}/api/events?all&namespace=events-${number}`, controller);
      controller.abort();
      await stream.body?.cancel().catch(() => undefined);
      await closedSocket(`${rig.server.url.replace("http", "ws")}/ws?namespace=socket-${number}`);
    }
    const names = reads.length * namesPerRead + 150;
    await until(async () => (await heapBytes()) - before < names * 10_000, { everyMs: 100 });
  });

  test("8.4 is followed as soon as somebody starts something there", async (t) => {
    const rig = await ServerRig.start(t);
    const controller = new AbortController();
    const heard: string[] = [];
    const { signal } = controller;
    const stream = await fetch(`${rig.server.url}/api/events?all&namespace=newborn`, { signal });
    const reading = (async () => {
      for await (const chunk of stream.body ?? []) heard.push(Buffer.from(chunk as Uint8Array).toString());
    })().catch(() => undefined);
    const headers = { "x-heddle-namespace": "newborn" };
    assert.deepEqual((await rig.ok("listWorkflows", { headers })).items, []);
    rig.server.engine.inNamespace("newborn").registerJobFunction("say", () => "said");
    await rig.ok("createWorkflow", { headers, body: { name: "mine", dagSpec: twoNodes } });
    const { instanceId } = await rig.ok("triggerWorkflow", { headers, params: { id: "mine" } });
    await until(() => heard.join("").includes(instanceId));
    controller.abort();
    await reading;
    const { items } = await rig.ok("listInstances", { headers });
    assert.deepEqual(
      items.map((each) => each.instanceId),
      [instanceId],
    );
  });
});

function closedSocket(url: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url);
    socket.addEventListener("open", () => socket.close());
    socket.addEventListener("close", () => resolve());
  });
}
