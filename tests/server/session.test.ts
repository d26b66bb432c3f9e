/** Spec §12.6: the console's session, a token that scripts of a page cannot read. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, test, type TestContext } from "node:test";
import type { Session } from "../../src/api/session.ts";
import { type Answered, ServerRig } from "./rig.ts";

async function withTokens(t: TestContext): Promise<{ rig: ServerRig; admin: string; viewer: string; worker: string }> {
  const rig = await ServerRig.start(t);
  const { token: admin } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
  const { token: viewer } = await rig.ok("createToken", { token: admin, body: { name: "eve", role: "viewer" } });
  const { token: worker } = await rig.ok("createToken", { token: admin, body: { name: "pool", role: "worker" } });
  return { rig, admin, viewer, worker };
}

async function signIn(rig: ServerRig, token: unknown): Promise<Answered> {
  return await rig.fetch("/api/session", {
    method: "POST",
    headers: { "content-type": "application/json", origin: rig.server.url },
    body: JSON.stringify({ token }),
  });
}

/** The cookie as a browser sends it back. */
function cookieOf(answer: Answered): string {
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

async function sessionOf(rig: ServerRig, headers: Record<string, string>): Promise<Session | null> {
  const { status, envelope } = await rig.fetch("/api/session", { headers });
  assert.equal(status, 200);
  return envelope.data as Session | null;
}

describe("a session of the console", () => {
  test("12.6 a token is exchanged for a cookie that scripts cannot read, and that only this server gets", async (t) => {
    const { rig, viewer } = await withTokens(t);
    assert.equal(await sessionOf(rig, {}), null);
    const answer = await signIn(rig, viewer);
    const set = answer.headers.get("set-cookie") ?? "";
    const port = new URL(rig.server.url).port;
    assert.match(set, new RegExp(`^heddle-session-${port}=`));
    assert.match(set, /; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
    const cookie = cookieOf(answer);
    const session = await sessionOf(rig, { cookie: `other=1; ${cookie}` });
    assert.deepEqual([session?.name, session?.role, session?.isOpen], ["eve", "viewer", false]);
    assert.deepEqual([session?.namespace, session?.isBound], ["default", false]);
    assert.equal((await rig.fetch("/api/workflow", { headers: { cookie } })).status, 200);
    assert.equal((await rig.fetch("/api/workflow", { headers: { cookie: "heddle-session=1" } })).status, 401);
  });

  test("ends with its token, and when it is signed out", async (t) => {
    const { rig, admin, viewer } = await withTokens(t);
    const cookie = cookieOf(await signIn(rig, viewer));
    const ended = await rig.fetch("/api/session", { method: "DELETE", headers: { cookie, origin: rig.server.url } });
    assert.match(ended.headers.get("set-cookie") ?? "", /=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/);
    await rig.ok("deleteToken", { token: admin, params: { name: "eve" } });
    assert.equal(await sessionOf(rig, { cookie }), null);
  });

  test("is refused with a wrong token, and for workers, who may read nothing", async (t) => {
    const { rig, worker } = await withTokens(t);
    for (const [token, status] of [
      ["hdl_wrong", 401],
      [worker, 403],
      ["", 400],
      [7, 400],
    ] as const) {
      const answer = await signIn(rig, token);
      assert.deepEqual([answer.status, answer.headers.get("set-cookie")], [status, null], String(token));
    }
  });

  test("leaves a line in the audit log, without a hash of the token", async (t) => {
    const { rig, admin, viewer } = await withTokens(t);
    await signIn(rig, viewer);
    await signIn(rig, "hdl_wrong");
    const { items } = await rig.ok("listAudit", { token: admin, query: { operation: "signIn" } });
    assert.deepEqual(
      items.map(({ who, role, status, digest }) => [who, role, status, digest]),
      [
        ["anonymous", null, 401, undefined],
        ["eve", "viewer", 200, undefined],
      ],
    );
  });

  test("takes no more bytes from a stranger than a token has, nor does a path that does not exist", async (t) => {
    const { rig } = await withTokens(t);
    const headers = { "content-type": "application/json" };
    for (const [method, path] of [
      ["POST", "/api/session"],
      ["DELETE", "/api/session"],
      ["POST", "/api/nothing"],
      ["PUT", "/nothing"],
      ["POST", "/actuator/health"],
    ] as const) {
      const { port } = new URL(rig.server.url);
      // The body is announced and never comes: it is refused before it is read.
      const asked = request({ port, method, path, headers: { ...headers, "content-length": 5000 } });
      asked.flushHeaders();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      asked.destroy();
      assert.equal(answer.statusCode, 413, `${method} ${path}`);
      const chunks = new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(1000).fill(0x20)),
      });
      const endless = await rig.fetch(path, { method, headers, body: chunks, duplex: "half" });
      assert.equal(endless.status, 413, `${method} ${path}, without end`);
    }
  });

  test("changes nothing for a page of another origin, be it another port of this machine", async (t) => {
    const { rig, admin } = await withTokens(t);
    const cookie = cookieOf(await signIn(rig, admin));
    const change = async (headers: Record<string, string>): Promise<number> => {
      const init = { method: "PUT", headers: { "content-type": "application/json", cookie, ...headers } };
      return (await rig.fetch("/api/domain/etl", { ...init, body: JSON.stringify({ size: 2 }) })).status;
    };
    assert.equal(await change({ origin: rig.server.url }), 200);
    assert.equal(await change({ origin: "http://127.0.0.1:1" }), 403);
    assert.equal(await change({ origin: "https://example.org" }), 403);
    // A browser always sends the origin of a change.
    assert.equal(await change({}), 401);
  });

  test("is of no use to an allowed origin, which has to send a token of its own", async (t) => {
    const corsOrigins = ["http://127.0.0.1:1"];
    const rig = await ServerRig.start(t, { corsOrigins, adminToken: "hdl_secret" });
    const cookie = cookieOf(await signIn(rig, "hdl_secret"));
    const headers = { "content-type": "application/json", cookie, origin: corsOrigins[0] ?? "" };
    const init = { method: "PUT", headers, body: JSON.stringify({ size: 2 }) };
    assert.equal((await rig.fetch("/api/domain/etl", init)).status, 401);
    const withToken = { ...init, headers: { ...headers, authorization: "Bearer hdl_secret" } };
    assert.equal((await rig.fetch("/api/domain/etl", withToken)).status, 200);
  });

  test("opens a socket for its own pages only", async (t) => {
    const { rig, viewer } = await withTokens(t);
    const cookie = cookieOf(await signIn(rig, viewer));
    const open = async (headers: Record<string, string>): Promise<boolean> => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const socket = new WebSocket(`${rig.server.url.replace("http", "ws")}/ws`, { headers });
      socket.addEventListener("open", () => resolve(true));
      socket.addEventListener("error", () => resolve(false));
      const isOpen = await promise;
      socket.close();
      return isOpen;
    };
    assert.equal(await open({ cookie, origin: rig.server.url }), true);
    assert.equal(await open({ cookie, origin: "http://127.0.0.1:1" }), false);
    assert.equal(await open({ origin: rig.server.url }), false);
  });

  test("of a server without tokens needs none", async (t) => {
    const rig = await ServerRig.start(t);
    const session = await sessionOf(rig, {});
    assert.deepEqual([session?.name, session?.role, session?.isOpen], ["local", "admin", true]);
  });

  test("is Secure behind TLS", async (t) => {
    const { rig, viewer } = await withTokens(t);
    const answer = await rig.fetch("/api/session", {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-proto": "https" },
      body: JSON.stringify({ token: viewer }),
    });
    assert.match(answer.headers.get("set-cookie") ?? "", /; SameSite=Strict; Secure$/);
  });
});
