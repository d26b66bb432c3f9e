/** What strangers, mistakes and odd values cannot do. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { loadConfig } from "../../src/server/config/load-config.ts";
import { Server } from "../../src/server/server.ts";
import { memoryStore } from "../../src/testing.ts";
import { ServerRig } from "./rig.ts";

const root = "root-root-root-root";
const invalid = { status: 400, code: "REQUEST_INVALID" };

describe("times at the edge", () => {
  const cron = { cron: "0 0 3 * * ?", timeZone: "UTC" };
  const edges = [8.64e15, 8.64e15 - 1, 8.64e15 + 1, 8e15, Number.MAX_SAFE_INTEGER, 253_402_300_800_000, -1, 0.5];

  for (const at of edges) {
    test(`${at} is refused wherever a time is taken`, async (t) => {
      const rig = await ServerRig.start(t);
      for (const field of ["from", "startAt", "endAt"]) {
        await rig.refused("previewSchedule", { body: { every: cron, [field]: at } }, invalid);
      }
      for (const field of ["startAt", "endAt"]) {
        const body = { scheduleId: "s", workflow: "hello", every: cron, [field]: at };
        await rig.refused("createSchedule", { body }, invalid);
      }
      await rig.refused("createToken", { body: { name: "x", role: "viewer", expiresAt: at } }, invalid);
      await rig.refused("listInstances", { query: { createdFrom: at } }, invalid);
      await rig.refused("listAudit", { query: { since: at } }, invalid);
      assert.deepEqual((await rig.ok("listSchedules")).items, []);
    });
  }

  test("the last that is allowed works", async (t) => {
    const rig = await ServerRig.start(t);
    const last = 253_402_300_799_999;
    const century = 3_162_240_000_000;
    for (const every of [cron, { rateMs: century }, { daily: { from: "10:00", to: "11:00", everyMs: 60_000 } }]) {
      const { times } = await rig.ok("previewSchedule", { body: { every, from: last - 1, count: 3 } });
      assert.ok(times.length <= 3);
    }
    for (const ms of [1e300, century + 1, 1000 / 3, 0, -1]) {
      for (const every of [{ rateMs: ms }, { delayMs: ms }, { daily: { from: "10:00", to: "11:00", everyMs: ms } }]) {
        await rig.refused("previewSchedule", { body: { every } }, invalid);
        await rig.refused("createSchedule", { body: { scheduleId: "s", workflow: "hello", every } }, invalid);
      }
    }
  });
});

describe("tokens", () => {
  test("in the query are not in the log", async (t) => {
    const lines: string[] = [];
    const keep = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
    const config = { ...loadConfig({}), port: 0, drainSeconds: 0, logLevel: "debug" as const };
    const logger = { debug: keep, info: keep, warn: keep, error: keep };
    const server = await Server.start(config, { store: memoryStore(), adminToken: root, logger });
    t.after(() => server.stop());
    for (const path of [`/api/instance?limit=2&token=${root}`, `/api/nothing?%74oken=${root}`]) {
      await (await fetch(`${server.url}${path}`)).text();
    }
    const refused = await fetch(`${server.url}/api/events?token=${root}`);
    assert.equal(refused.status, 400);
    const answered = (): number => lines.filter((line) => line.startsWith("request answered")).length;
    for (let waited = 0; answered() < 3 && waited < 500; waited++) await delay(10);
    assert.equal(answered(), 3);
    assert.ok(lines.some((line) => line.includes("limit=2")));
    assert.deepEqual(
      lines.filter((line) => line.includes(root)),
      [],
    );
  });

  test("that are empty let nobody in, nor does the hash of nothing", async (t) => {
    const sha256 = createHash("sha256").update("").digest("hex");
    const tokens = [{ name: "oops", role: "admin", sha256 }];
    assert.throws(
      () => loadConfig({ environment: { HEDDLE_TOKENS: JSON.stringify(tokens) } }),
      /hash of an empty text/,
    );
    const rig = await ServerRig.start(t, { tokens: tokens as never });
    for (const authorization of ["", "Bearer", "Bearer ", "bearer  "]) {
      assert.equal((await rig.send("listTokens", { headers: { authorization } })).status, 401, authorization);
    }
  });

  test("have names that can be told from others, and an end that is to come", async (t) => {
    const rig = await ServerRig.start(t);
    for (const name of ["local", "environment", "anonymous", "many", "a\nb", "a\u001bb", "a\u202Eb", "a\u2066b"]) {
      await rig.refused("createToken", { body: { name, role: "viewer" } }, invalid);
      if (name.length !== 3) continue;
      await rig.refused("triggerWorkflow", { params: { id: "hello" }, query: { instanceId: name } }, invalid);
      const every = { rateMs: 60_000 };
      await rig.refused("createSchedule", { body: { scheduleId: name, workflow: "hello", every } }, invalid);
    }
    const expiresAt = Date.now() - 1000;
    const { message } = await rig.refused("createToken", { body: { name: "x", role: "viewer", expiresAt } }, invalid);
    assert.match(message ?? "", /in the past/);
  });

  test("are not deleted to the last one without being asked twice", async (t) => {
    const rig = await ServerRig.start(t);
    const { token } = await rig.ok("createToken", { body: { name: "ann", role: "admin" } });
    await rig.ok("createToken", { token, body: { name: "bob", role: "admin" } });
    await rig.ok("deleteToken", { token, params: { name: "bob" } });
    const params = { name: "ann" };
    const { message } = await rig.refused("deleteToken", { token, params }, { status: 409, code: "TOKEN_LAST" });
    assert.match(message ?? "", /"ann" is the last one/);
    await rig.ok("deleteToken", { token, params, query: { force: true } });
    await rig.ok("listTokens");
  });
});

describe("strangers", () => {
  test("are told whether the server is well, and nothing else", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: root });
    const health = async (headers = {}): Promise<unknown> =>
      JSON.parse((await rig.fetch("/actuator/health", { headers })).text) as unknown;
    assert.deepEqual(await health(), { status: "UP" });
    assert.deepEqual(await health({ authorization: "Bearer wrong" }), { status: "UP" });
    const known = await health({ authorization: `Bearer ${root}` });
    assert.deepEqual(known, { status: "UP", reason: null, engine: "up" });
    await rig.restart();
    assert.deepEqual(await health(), { status: "UP", reason: null, engine: "up" });
  });

  test("find no answers in caches", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: root });
    for (const path of ["/api/instance", "/api/nothing", "/metrics", "/actuator/health"]) {
      assert.equal((await rig.fetch(path)).headers.get("cache-control"), "no-store", path);
    }
  });
});

test("pages of allowed origins may use every method", async (t) => {
  const origin = "https://console.example";
  const rig = await ServerRig.start(t, { corsOrigins: [origin] });
  const { headers } = await rig.fetch("/api/workflow/two", {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "PUT" },
  });
  assert.equal(headers.get("access-control-allow-methods"), "GET, HEAD, POST, PUT, PATCH, DELETE");
});
