/** Spec §12.6: who is let in, as whom, and what is kept of it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { get } from "node:https";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { routes } from "../../src/api/routes.ts";
import { ServerRig } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sha256 = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** `fetch` sets some headers itself. */
async function rawStatus(url: string, options: { method?: string; headers: Record<string, string> }): Promise<number> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("tokens", () => {
  test("12.6 without any, this machine is let in as admin; with one, nobody is without it", async (t) => {
    const rig = await ServerRig.start(t);
    const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
    const { headers, envelope, status } = await rig.send("listWorkflows");
    assert.deepEqual([status, envelope.code, headers.get("www-authenticate")], [401, "UNAUTHORIZED", "Bearer"]);
    await rig.refused("listWorkflows", { token: `${token}x` }, { status: 401, code: "UNAUTHORIZED" });
    await rig.ok("listWorkflows", { token });
    assert.equal((await rig.fetch("/metrics")).status, 401);
    assert.equal((await rig.fetch("/actuator/health")).status, 200);
    const file =
      readFileSync(join(rig.folder, "heddle.db"), "latin1") + readFileSync(join(rig.folder, "heddle.db-wal"), "latin1");
    assert.ok(!file.includes(token));
    await rig.restart();
    await rig.ok("listWorkflows", { token });
    await rig.ok("deleteToken", { params: { name: "root" }, query: { force: true }, token });
    await rig.ok("listWorkflows");
    await rig.refused("deleteToken", { params: { name: "root" } }, { status: 404, code: "NOT_FOUND" });
  });

  test("the first token must be an admin's, and a refusal names the way back in", async (t) => {
    const rig = await ServerRig.start(t);
    const refusal = { status: 409, code: "ADMIN_TOKEN_MISSING" };
    for (const role of ["viewer", "operator", "worker"] as const) {
      const { message } = await rig.refused("createToken", { body: { name: "pool", role } }, refusal);
      assert.match(message ?? "", /--role admin.*HEDDLE_TOKEN/);
      await rig.ok("listTokens");
    }
    const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
    await rig.ok("createToken", { token, body: { name: "pool", role: "worker" } });
    for (const sent of [{}, { token: "hdl_wrong" }]) {
      const { message } = await rig.refused("listTokens", sent, { status: 401, code: "UNAUTHORIZED" });
      assert.match(message ?? "", /start the server with the variable HEDDLE_TOKEN/);
    }
  });

  test("the last admin's token is deleted only with force, while others are left", async (t) => {
    const rig = await ServerRig.start(t);
    const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
    await rig.ok("createToken", { token, body: { name: "pool", role: "worker" } });
    const expiresAt = Date.now() + 1500;
    await rig.ok("createToken", { token, body: { name: "ended", role: "admin", expiresAt } });
    while (Date.now() < expiresAt) await delay(50);
    const params = { name: "root" };
    const { message } = await rig.refused("deleteToken", { token, params }, { status: 409, code: "TOKEN_LAST" });
    assert.match(message ?? "", /"root" is the last one of an admin/);
    await rig.ok("createToken", { token, body: { name: "other", role: "admin" } });
    await rig.ok("deleteToken", { token, params });
  });

  test("12.6 each operation takes its role and those above it", async (t) => {
    const secrets = { viewer: "v-secret", operator: "o-secret", worker: "w-secret", admin: "a-secret" };
    const roles = ["viewer", "operator", "worker", "admin"] as const;
    const tokens = roles.map((role) => {
      return { name: `the ${role}`, role, sha256: sha256(secrets[role]) };
    });
    const rig = await ServerRig.start(t, { tokens });
    const mayDo = { viewer: ["viewer"], operator: ["viewer", "operator"], worker: [], admin: roles };
    for (const name of Object.keys(paths) as RouteName[]) {
      // It would stop what the rest of the test needs.
      if (name === "drain") continue;
      const needed = routes[name].role;
      const params = { id: "none", instanceId: "none", nodeId: "none", name: "none" };
      await rig.refused(name, { params }, { status: 401, code: "UNAUTHORIZED" });
      for (const role of roles) {
        const { status } = await rig.send(name, { params, token: secrets[role] });
        const isAllowed = mayDo[role].some((allowed) => allowed === needed);
        assert.equal(status === 403, !isAllowed, `${name} as ${role}: ${status}`);
        assert.ok(status < 500, `${name} as ${role}: ${status}`);
      }
    }
    const asWorker = { headers: { authorization: "Bearer w-secret" } };
    const places = ["/metrics", "/actuator/info", "/actuator/prometheus", "/actuator/metrics", "/api/events", "/ws"];
    for (const path of places) assert.equal((await rig.fetch(path, asWorker)).status, 403, path);
    for (const role of roles) {
      const { status } = await rig.fetch("/ws/worker", { headers: { authorization: `Bearer ${secrets[role]}` } });
      assert.equal(status === 403, role === "viewer" || role === "operator", `/ws/worker as ${role}: ${status}`);
    }
    const shutdown = { method: "POST", headers: { authorization: "Bearer o-secret" } };
    assert.equal((await rig.fetch("/actuator/shutdown", shutdown)).status, 403);
    await rig.refused(
      "deleteToken",
      { params: { name: "the viewer" }, token: "a-secret" },
      { status: 409, code: "TOKEN_CONFIGURED" },
    );
  });

  test("12.6 one that has expired is one that is not known", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root" });
    const make = async (name: string, expiresAt: number): Promise<string> =>
      (await rig.ok("createToken", { token: "root", body: { name, role: "viewer", expiresAt } })).token;
    await rig.ok("getCluster", { token: await make("long", Date.now() + 60_000) });
    const expiresAt = Date.now() + 2000;
    const token = await make("over", expiresAt);
    while (Date.now() < expiresAt) await delay(50);
    await rig.refused("getCluster", { token }, { status: 401, code: "UNAUTHORIZED" });
    await rig.refused(
      "createToken",
      { token: "root", body: { name: "long", role: "viewer" } },
      { status: 409, code: "TOKEN_EXISTS" },
    );
  });

  test("12.6 are asked for less often than they may be, and wrong ones are counted by address", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root", rateLimitPerSecond: 5 });
    const asked = await Promise.all(Array.from({ length: 30 }, () => rig.send("getCluster", { token: "root" })));
    assert.deepEqual(
      [...new Set(asked.map(({ status }) => status))].toSorted((a, b) => a - b),
      [200, 429],
    );
    const wrong: number[] = [];
    for (let at = 0; at < 12; at++) wrong.push((await rig.send("getCluster", { token: `guess ${at}` })).status);
    assert.deepEqual(wrong, [...Array<number>(12).fill(401)].fill(429, 10));
    const { headers, envelope } = await rig.send("getCluster", { token: "one more" });
    assert.equal(envelope.code, "RATE_LIMITED");
    assert.ok(Number(headers.get("retry-after")) > 30);
  });
});

describe("the door", () => {
  test("12.6 is not opened to other machines without a token", async (t) => {
    const rig = await ServerRig.start(t);
    await rig.stop();
    await assert.rejects(rig.begin({ host: "0.0.0.0" }), /nobody has a token yet.*HEDDLE_TOKEN/);
    await assert.rejects(rig.begin({ host: "0.0.0.0", adminToken: "" }), /nobody has a token yet/);
    await assert.rejects(rig.begin({ host: "0.0.0.0", adminToken: "short" }), /can be guessed/);
    // The store is free again.
    const adminToken = "a secret of some length";
    await rig.begin({ host: "0.0.0.0", adminToken });
    const { port } = new URL(rig.server.url);
    const url = `http://127.0.0.1:${port}/api/workflow`;
    assert.equal((await fetch(url)).status, 401);
    assert.equal((await fetch(url, { headers: { authorization: `Bearer ${adminToken}` } })).status, 200);
  });

  test("12.6 answers on this machine under its own names only", async (t) => {
    const rig = await ServerRig.start(t);
    const url = `${rig.server.url}/api/workflow`;
    for (const host of ["localhost", "127.0.0.1:7411", "[::1]:7411", "LOCALHOST:1"]) {
      assert.equal(await rawStatus(url, { headers: { host } }), 200, host);
    }
    for (const host of ["evil.example", "evil.example:7411", "127.0.0.1.evil.example"]) {
      assert.equal(await rawStatus(url, { headers: { host } }), 403, host);
    }
  });

  test("12.6 pages of other sites can change nothing, unless they are allowed to", async (t) => {
    const rig = await ServerRig.start(t, { corsOrigins: ["https://good.example"] });
    const url = `${rig.server.url}/api/workflow/hello/trigger`;
    const post = (origin: string): Promise<number> => rawStatus(url, { method: "POST", headers: { origin } });
    assert.equal(await post("https://evil.example"), 403);
    assert.equal(await post("null"), 403);
    assert.equal(await post(rig.server.url), 201);
    assert.equal(await post("https://good.example"), 201);
    const asks = { "access-control-request-method": "POST", origin: "https://good.example" };
    const allowed = await fetch(url, { method: "OPTIONS", headers: asks });
    assert.equal(allowed.headers.get("access-control-allow-origin"), "https://good.example");
    const evil = await fetch(url, { method: "OPTIONS", headers: { ...asks, origin: "https://evil.example" } });
    assert.equal(evil.headers.get("access-control-allow-origin"), null);
    await rig.restart();
    const closed = await rig.fetch("/api/workflow", { headers: { origin: "https://good.example" } });
    assert.equal(closed.headers.get("access-control-allow-origin"), null);
  });

  test("12.6 every answer has the headers that keep browsers from harm", async (t) => {
    const rig = await ServerRig.start(t);
    for (const path of ["/api/workflow", "/api/docs", "/api/nothing", "/actuator/health", "/api/instance/%zz"]) {
      const { headers } = await rig.fetch(path);
      assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'.*frame-ancestors 'none'/, path);
      assert.doesNotMatch(headers.get("content-security-policy") ?? "", /unsafe/);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
    }
  });

  test("12.6 speaks TLS where it is given a key", async (t) => {
    const folder = temporaryFolder(t);
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const files = ["-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...subject, ...files], {
      stdio: "ignore",
    });
    const rig = await ServerRig.start(t, { tls: { key, cert } });
    assert.match(rig.server.url, /^https:/);
    const answer = await new Promise<{ status: number | undefined; hsts: string | undefined }>((resolve, reject) => {
      get(`${rig.server.url}/api/workflow`, { ca: readFileSync(cert) }, (message) => {
        message.resume();
        resolve({ status: message.statusCode, hsts: message.headers["strict-transport-security"] });
      }).on("error", reject);
    });
    assert.deepEqual(answer, { status: 200, hsts: "max-age=31536000" });
    await rig.stop();
    await assert.rejects(rig.begin({ tls: { key: join(folder, "none"), cert } }), /tls\.key cannot be read/);
    await assert.rejects(rig.begin({ tls: { key: cert, cert } }), /no key and its certificate/);
  });
});

describe("the audit log", () => {
  test("12.6 has every change, who made it, and what came of it; and survives a restart", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root" });
    const { token } = await rig.ok("createToken", { token: "root", body: { name: "ann", role: "operator" } });
    const sent = { token, params: { id: "hello" } };
    const started = await Promise.all(Array.from({ length: 20 }, () => rig.ok("triggerWorkflow", sent)));
    await rig.refused("pauseInstance", { token, params: { id: "nobody" } }, { status: 404, code: "INSTANCE_UNKNOWN" });
    await rig.ok("getInstance", { token, params: { id: started[0]?.instanceId ?? "" } });
    await rig.ok("previewSchedule", { token, body: { every: { rateMs: 1000 } } });
    await rig.restart({ adminToken: "root" });
    const { items } = await rig.ok("listAudit", { token: "root" });
    const lines = items.map(({ who, what, target, status }) => [who, what, target, status]);
    assert.deepEqual(lines, [
      ["ann", "pauseInstance", "nobody", 404],
      ...Array.from({ length: 20 }, () => ["ann", "triggerWorkflow", "hello", 201]),
      ["environment", "createToken", "ann", 201],
    ]);
  });
});
