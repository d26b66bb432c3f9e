/** Who changed what, and who was refused: every route of the contract leaves its line. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { type DataOf, routes } from "../../src/api/routes.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { Audit } from "../../src/server/security/audit.ts";
import type { AuditEntry } from "../../src/server/security/audit-entry.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { TestClock } from "../../src/testing/test-clock.ts";
import { type Answered, type Sent, ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import { openRaw } from "./raw-socket.ts";
import { validRequests } from "./valid-requests.ts";

type Line = DataOf<"listAudit">["items"][number];

const root = "root-root-root-root";
const names = Object.keys(paths) as RouteName[];
const changes = names.filter((name) => !paths[name].startsWith("GET") && routes[name].role !== "viewer");

/** Those of one request; more than one would be a line too many. */
async function linesOf(rig: ServerRig, { headers }: Answered): Promise<Line[]> {
  const id = headers.get("x-request-id");
  assert.ok(id, "every answer names its request");
  const { items } = await rig.ok("listAudit", { token: root, query: { limit: 1000 } });
  return items.filter(({ requestId }) => requestId === id);
}

async function begin(t: Parameters<typeof ServerRig.start>[0]): Promise<{ rig: ServerRig; viewer: string }> {
  const rig = await ServerRig.start(t, { adminToken: root, requestTimeoutSeconds: 3 });
  await rig.ok("createWorkflow", { token: root, body: { name: "two", dagSpec: twoNodes } });
  await rig.ok("triggerWorkflow", { token: root, params: { id: "talk" }, query: { instanceId: "code" }, body: {} });
  const made = await rig.ok("createToken", { token: root, body: { name: "looker", role: "viewer" } });
  return { rig, viewer: made.token };
}

const subjects = { instance: "code", workflow: "two", schedule: "nightly", token: "none" };

/** What the line of a request must name. */
const targets: Partial<Record<RouteName, string>> = {
  createWorkflow: "two-new",
  createToken: "none-new",
  createSchedule: "nightly-new",
  drain: "nobody",
  resizeDomain: "default",
  deleteToken: "none",
};

/** Null for what is about the server itself. */
function targetOf(name: RouteName, { params = {} }: Sent): string | null {
  // Their path is a secret; the answer names the instance.
  if (name === "completeTask" || name === "failTask") return null;
  const parts = Object.values(params);
  return targets[name] ?? (parts.length === 0 ? null : parts.join("/"));
}

describe("every change leaves exactly one line", () => {
  test("with its target, role and address, whether it is made or refused", async (t) => {
    const { rig } = await begin(t);
    const requests = validRequests(subjects);
    for (const name of changes) {
      const answered = await rig.send(name, { ...requests[name], token: root });
      const lines = await linesOf(rig, answered);
      assert.equal(lines.length, 1, `${name}: ${JSON.stringify(lines)}`);
      const [line] = lines as [Line];
      assert.deepEqual(
        [line.what, line.who, line.role, line.address, line.status, line.target],
        [name, "environment", "admin", "127.0.0.1", answered.status, targetOf(name, requests[name])],
      );
      assert.equal(line.code, answered.envelope.code === 0 ? undefined : answered.envelope.code);
      assert.equal(line.digest !== undefined, requests[name].body !== undefined, `${name} ${String(line.digest)}`);
      const { instanceId } = (answered.envelope.data ?? {}) as { instanceId?: string };
      assert.equal((line.details as { instanceId?: string } | undefined)?.instanceId, instanceId);
    }
    const { items } = await rig.ok("listAudit", { token: root, query: { operation: "createToken" } });
    assert.deepEqual(
      items.map(({ target, details }) => [target, details]),
      [
        ["none-new", { role: "viewer" }],
        ["looker", { role: "viewer" }],
      ],
    );
  });

  test("when the caller may not, when nobody is let in, and when the body is no good", async (t) => {
    const { rig, viewer } = await begin(t);
    const requests = validRequests(subjects);
    for (const name of changes) {
      const { params, query, body } = requests[name];
      const sent = { ...(params && { params }), ...(query && { query }) };
      const cases: [Sent, number, string][] = [
        [{ ...requests[name], token: viewer }, 403, "looker"],
        [{ ...requests[name] }, 401, "anonymous"],
        [{ ...requests[name], token: root, headers: { origin: "https://evil.example" } }, 403, "anonymous"],
      ];
      if (body !== undefined) {
        cases.push([{ ...requests[name], token: root, headers: { "content-type": "text/plain" } }, 415, "environment"]);
        cases.push([{ ...sent, token: root, body: "x".repeat(11_000_000) }, 413, "environment"]);
      }
      for (const [request, status, who] of cases) {
        const answered = await rig.send(name, request);
        assert.equal(answered.status, status, `${name} ${answered.text}`);
        const lines = await linesOf(rig, answered);
        assert.deepEqual(
          lines.map((line) => [line.what, line.status, line.who, line.code, line.address]),
          [[name, status, who, answered.envelope.code, "127.0.0.1"]],
        );
      }
    }
    const broken = await rig.fetch("/api/token", {
      method: "POST",
      headers: { authorization: `Bearer ${root}`, "content-type": "application/json" },
      body: '{"name":',
    });
    assert.deepEqual(
      (await linesOf(rig, broken)).map(({ what, status }) => [what, status]),
      [["createToken", 400]],
    );
  });

  test("and so do those who look where they may not", async (t) => {
    const { rig, viewer } = await begin(t);
    for (const [name, token, status] of [
      ["listAudit", viewer, 403],
      ["listInstances", undefined, 401],
      ["listInstances", "wrong", 401],
    ] as const) {
      const answered = await rig.send(name, token === undefined ? {} : { token });
      assert.equal(answered.status, status);
      assert.equal((await linesOf(rig, answered)).length, token === "wrong" ? 0 : 1);
    }
    const answered = await rig.send("listInstances", { token: root });
    assert.deepEqual(await linesOf(rig, answered), []);
  });

  test("links of workers, too", async (t) => {
    const { rig, viewer } = await begin(t);
    const lines = async (): Promise<unknown[]> => {
      const { items } = await rig.ok("listAudit", { token: root, query: { operation: "connectWorker" } });
      return items.map(({ who, status }) => [who, status]);
    };
    const { hostname, port } = new URL(rig.server.url);
    const socket = connect(Number(port), hostname);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
    socket.write(
      `GET /ws/worker HTTP/1.1\r\nHost: 127.0.0.1\r\n${upgrade}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer ${viewer}\r\n\r\n`,
    );
    await once(socket, "data");
    socket.destroy();
    assert.deepEqual(await lines(), [["looker", 403]]);
    const open = await openRaw(rig.server, "/ws/worker", root);
    while ((await lines()).length < 2) await delay(10);
    assert.deepEqual((await lines())[0], ["environment", 101]);
    open.destroy();
  });
});

const entry: AuditEntry = {
  who: "anonymous",
  role: null,
  address: "10.0.0.1",
  requestId: "1",
  what: "listInstances",
  target: null,
  status: 401,
  code: "UNAUTHORIZED",
};

async function openAudit(keepMs = 0): Promise<{ audit: Audit; clock: TestClock; store: MemoryStore }> {
  const store = new MemoryStore();
  await store.open();
  const clock = new TestClock();
  return { audit: new Audit({ store, clock, logger: silentLogger, keepMs }), clock, store };
}

describe("the audit log is bounded", () => {
  test("a flood of refusals is one line, and one with their number", async () => {
    const { audit, clock } = await openAudit();
    for (let each = 0; each < 2000; each++) void audit.appendRefusal({ ...entry, requestId: String(each) });
    await clock.advance(61_000);
    await audit.appendRefusal(entry);
    await clock.advance(1000);
    const { lines } = await audit.read({}, { limit: 10 });
    assert.deepEqual(
      lines.map(({ count }) => count),
      [undefined, 1999, undefined],
    );
  });

  test("a flood from everywhere is counted together", async () => {
    const { audit, clock } = await openAudit();
    for (let each = 0; each < 5000; each++) void audit.appendRefusal({ ...entry, address: `10.1.${each}` });
    await clock.advance(61_000);
    const { lines } = await audit.read({ who: "many" }, { limit: 10 });
    assert.deepEqual(
      lines.map(({ count }) => count),
      [3999],
    );
    assert.equal((await audit.read({}, { limit: 5000 })).lines.length, 1002);
  });

  test("what is counted is written when the server stops", async () => {
    const { audit, clock } = await openAudit();
    for (let each = 0; each < 3; each++) void audit.appendRefusal(entry);
    const stopped = audit.stop();
    await clock.advance(1000);
    await stopped;
    assert.equal((await audit.read({}, { limit: 10 })).lines.at(0)?.count, 2);
  });

  test("old lines are deleted, and others stay", async () => {
    const { audit, clock, store } = await openAudit(1000 * 60 * 60 * 24);
    const body = JSON.stringify(entry);
    await store.appendLines([
      { topic: "audit", at: clock.now() - 90_000_000, body },
      { topic: "audit", at: clock.now(), body },
      { topic: "log:x", at: 0, body },
    ]);
    audit.start();
    await clock.advance(1000);
    assert.equal((await audit.read({}, { limit: 10 })).lines.length, 1);
    assert.equal((await store.listLines("log:x", { limit: 9 })).length, 1);
    await clock.advance(1000 * 60 * 60 * 25);
    assert.equal((await audit.read({}, { limit: 10 })).lines.length, 0);
    await audit.stop();
  });
});

test("the audit log is read page by page, by token, operation and time", async () => {
  const { audit, clock } = await openAudit();
  for (let each = 0; each < 2500; each++) {
    void audit.append({ ...entry, who: each % 100 === 0 ? "rare" : "often", requestId: String(each) });
    if (each === 1250) await clock.advance(3_600_000);
  }
  await clock.advance(1000);
  const seen: string[] = [];
  let before: number | undefined;
  do {
    const page = await audit.read({ who: "rare" }, { limit: 7, ...(before !== undefined && { before }) });
    seen.push(...page.lines.map(({ requestId }) => requestId));
    ({ before } = page);
  } while (before !== undefined);
  assert.deepEqual(
    seen,
    Array.from({ length: 25 }, (_, index) => String(2400 - index * 100)),
  );
  const since = clock.now() - 1_800_000;
  const { lines } = await audit.read({ since, what: "listInstances" }, { limit: 5000 });
  assert.equal(lines.length, 1249);
});
