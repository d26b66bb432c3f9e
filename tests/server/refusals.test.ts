/** Spec §12.1: what does not fit is refused in the envelope, with the right status. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { errorCodes } from "../../src/base/error.ts";
import { errorStatus } from "../../src/server/http/error-status.ts";
import { type Answered, ServerRig } from "./rig.ts";

function isRefusal({ status, envelope }: Answered, expected: { status: number; code: string }): void {
  assert.deepEqual({ status, code: envelope.code }, expected);
  assert.ok((envelope.message ?? "").length > 0);
}

const json = { "content-type": "application/json" };

describe("what does not fit", () => {
  test("12.1 is told where and why", async (t) => {
    const rig = await ServerRig.start(t);
    const { details } = await rig.refused(
      "createWorkflow",
      { body: { name: "", dagSpec: { nodes: [{}] } } },
      { status: 400, code: "REQUEST_INVALID" },
    );
    assert.deepEqual(
      details?.map(({ path }) => path),
      ["body.name", "body.dagSpec.nodes.0.nodeId"],
    );
    const query = await rig.refused(
      "listInstances",
      { query: { limit: 0, status: "Odd" } },
      { status: 400, code: "REQUEST_INVALID" },
    );
    assert.deepEqual(query.details?.map(({ path }) => path).toSorted(), ["query.limit", "query.status.0"]);
    for (const cursor of ["x", "W10", "WyJhIl0", Buffer.from("[1.5,-1]").toString("base64url")]) {
      await rig.refused("listInstances", { query: { cursor } }, { status: 400, code: "REQUEST_INVALID" });
    }
    await rig.ok("listInstances", { query: { idPrefix: "i".repeat(512) } });
    const unprintable = { params: { name: "\u0000" }, body: { size: 1 } };
    await rig.refused("resizeDomain", unprintable, { status: 400, code: "REQUEST_INVALID" });
    const cycle = {
      nodes: [{ nodeId: 1 }, { nodeId: 2 }],
      edges: [
        { from: 1, to: 2 },
        { from: 2, to: 1 },
      ],
    };
    await rig.refused(
      "createWorkflow",
      { body: { name: "round", dagSpec: cycle } },
      { status: 422, code: "WORKFLOW_CYCLE" },
    );
    assert.deepEqual(rig.problems, []);
  });

  test("12.1 as a request of HTTP is refused in the same words", async (t) => {
    const rig = await ServerRig.start(t, { bodyLimitBytes: 2000 });
    isRefusal(await rig.fetch("/api/nothing"), { status: 404, code: "NOT_FOUND" });
    isRefusal(await rig.fetch("/api/instance/%zz"), { status: 400, code: "REQUEST_INVALID" });
    const wrongMethod = await rig.fetch("/api/workflow/hello", { method: "POST" });
    isRefusal(wrongMethod, { status: 405, code: "METHOD_NOT_ALLOWED" });
    assert.equal(wrongMethod.headers.get("allow"), "DELETE, GET, HEAD, PUT");
    const trigger = "/api/workflow/hello/trigger";
    const post = (body: string, headers: Record<string, string>): Promise<Answered> =>
      rig.fetch(trigger, { method: "POST", body, headers });
    isRefusal(await post("{", json), { status: 400, code: "REQUEST_INVALID" });
    isRefusal(await post('{"__proto__":{"a":1}}', json), { status: 400, code: "REQUEST_INVALID" });
    isRefusal(await post("a=1", { "content-type": "text/plain" }), { status: 415, code: "MEDIA_TYPE_UNSUPPORTED" });
    isRefusal(await post(`"${"x".repeat(3000)}"`, json), { status: 413, code: "BODY_TOO_LARGE" });
    isRefusal(await post("{}", { ...json, "idempotency-key": "k".repeat(201) }), {
      status: 400,
      code: "REQUEST_INVALID",
    });
    assert.equal((await post("", json)).status, 201);
    const long = await rig.fetch(`/api/instance/${"%E4%BD%A0".repeat(200)}`);
    isRefusal(long, { status: 404, code: "INSTANCE_UNKNOWN" });
    assert.deepEqual(rig.problems, []);
  });

  test("12.1 what is nested too deeply is refused before anybody stumbles over it", async (t) => {
    const rig = await ServerRig.start(t);
    const deep = `{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const sent = { method: "POST", body: deep, headers: { ...json, "idempotency-key": "k" } };
    for (const path of ["/api/workflow/hello/trigger", "/api/workflow/create", "/api/schedule"]) {
      isRefusal(await rig.fetch(path, sent), { status: 400, code: "REQUEST_INVALID" });
    }
    const allowed = { body: { x: JSON.parse("[".repeat(900) + "]".repeat(900)) as unknown }, params: { id: "hello" } };
    const { instanceId } = await rig.ok("triggerWorkflow", allowed);
    assert.deepEqual(await rig.ok("getContext", { params: { id: instanceId } }), allowed.body);
    assert.deepEqual(rig.problems, []);
  });

  test("12.1 what is no HTTP at all ends its own connection only", async (t) => {
    const rig = await ServerRig.start(t);
    const { port } = new URL(rig.server.url);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1");
      let text = "";
      socket.on("data", (data) => (text += data.toString()));
      socket.on("close", () => resolve(text));
      socket.write("this is not HTTP\r\n\r\n");
    });
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /"code":"REQUEST_INVALID"/);
    await rig.ok("getCluster");
  });

  test("12.1 HEAD answers as GET does, without its body", async (t) => {
    const rig = await ServerRig.start(t);
    const { status, text, headers } = await rig.fetch("/api/workflow", { method: "HEAD" });
    assert.deepEqual([status, text], [200, ""]);
    assert.ok(Number(headers.get("content-length")) > 0);
  });

  test("12.1 an error that nobody meant is logged under a number, and tells the caller nothing else", async (t) => {
    const rig = await ServerRig.start(t);
    rig.server.engine.cluster.listDomains = () => {
      throw new TypeError("secret of the inside");
    };
    const { message } = await rig.refused("listDomains", {}, { status: 500, code: "INTERNAL" });
    assert.doesNotMatch(message ?? "", /secret/);
    const id = /[0-9a-f-]{36}/.exec(message ?? "")?.[0] ?? "none";
    assert.match(rig.problems.join("\n"), new RegExp(`secret of the inside.*${id}|${id}.*secret of the inside`));
  });

  test("12.1 every error of the engine has a status, and only a broken store or git is the server's fault", () => {
    assert.deepEqual(Object.keys(errorStatus).toSorted(), Object.keys(errorCodes).toSorted());
    const internal = Object.entries(errorStatus).filter(([, status]) => status >= 500 && status !== 503);
    const broken = ["GIT_FAILED", "STORE_CORRUPT", "STORE_NEWER", "STORE_OLDER", "STORE_UNSUITABLE"];
    assert.deepEqual(internal.map(([code]) => code).toSorted(), broken);
  });

  test("12.1 a query that takes too long is given up after five seconds", async (t) => {
    const rig = await ServerRig.start(t);
    rig.server.engine.getWorkflowInstanceStatus = () => new Promise(() => undefined);
    const answered = await rig.send("monitorInstance", { params: { instanceId: "x" } });
    isRefusal(answered, { status: 504, code: "QUERY_TIMEOUT" });
    assert.equal(answered.envelope.message, "Query timeout");
  });
});
