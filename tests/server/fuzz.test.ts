/** Spec §12.6: whatever is sent, the answer is in the envelope and never a 500. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { OpenApi, Operation, Parameter } from "../../src/server/http/openapi.ts";
import { type Answered, ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import { anyJson, anyText, type JsonSchema, valueOf } from "./schema-values.ts";

interface Request {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Draining would end the test for all that come after it. */
const leftAlone = new Set(["drain"]);

const headers = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.constantFrom("k1", "k2", "k3").map((key) => ({ "idempotency-key": key })) },
  { weight: 1, arbitrary: fc.constantFrom({ traceparent: "nonsense" }, { "content-type": "text/xml" }) },
);

function requestsOf({ paths }: OpenApi): fc.Arbitrary<Request> {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      leftAlone.has(operation.operationId) ? [] : [requestOf(method.toUpperCase(), path, operation)],
    ),
  );
  const stray = fc.record({
    method: fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"),
    path: fc.array(anyText, { maxLength: 4 }).map((parts) => `/api/${parts.map(encodeWhole).join("/")}`),
    params: fc.constant({}),
    query: fc.dictionary(fc.constantFrom("limit", "cursor", "q"), anyText, { maxKeys: 2 }),
    headers,
    body: fc.option(anyJson, { nil: undefined }),
  });
  return fc.oneof({ weight: 10, arbitrary: fc.oneof(...operations) }, { weight: 1, arbitrary: stray });
}

/** What there is, by the first word of the path. */
const known: Readonly<Record<string, readonly string[]>> = {
  workflow: ["hello", "two", "talk", "three"],
  dag: ["first", "1", "failed"],
  instance: ["first", "1", "failed", "schedule:nightly"],
  schedule: ["nightly", "weekly"],
  domain: ["small", "default"],
  token: ["two", "three"],
};

const nodes = ["greet", "stumble", "1", "2"];

function paramOf(path: string, name: string): fc.Arbitrary<unknown> {
  const [, , word = ""] = path.split("/");
  if (name === "nodeId") return fc.constantFrom(...nodes);
  if (name === "name" && word === "instance") return fc.constantFrom("go", "add", "words");
  return fc.constantFrom(...(known[word] ?? ["none"]));
}

function requestOf(method: string, path: string, { parameters, requestBody }: Operation): fc.Arbitrary<Request> {
  const of = (place: Parameter["in"]): fc.Arbitrary<Record<string, unknown>> => {
    const fields = parameters.filter((parameter) => parameter.in === place);
    return fc.record(
      Object.fromEntries(
        fields.map(({ name, required, schema }) => {
          // Nobody waits for a minute here.
          const any = name === "waitMs" ? fc.integer({ min: -1, max: 20 }) : valueOf(schema);
          const value = place === "path" ? fc.oneof({ weight: 5, arbitrary: paramOf(path, name) }, any) : any;
          return [name, required ? value : fc.option(value, { nil: undefined })];
        }),
      ),
    );
  };
  const schema = requestBody?.content["application/json"].schema as JsonSchema | undefined;
  const body = schema === undefined ? fc.option(anyJson, { nil: undefined, freq: 1 }) : valueOf(schema);
  return fc.record({
    method: fc.constant(method),
    path: fc.constant(path),
    params: of("path"),
    query: of("query"),
    headers,
    body: method === "GET" ? fc.constant(undefined) : body,
  });
}

/** Lone surrogates cannot be sent at all. */
function encodeWhole(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return encodeURIComponent(text.toWellFormed()).replaceAll(".", "%2E");
}

async function send(rig: ServerRig, request: Request): Promise<Answered> {
  const path = request.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeWhole(request.params[key]));
  const query = Object.entries(request.query).filter(([, value]) => value !== undefined);
  const search = query.map(([name, value]) => `${name}=${encodeWhole(value)}`).join("&");
  const hasBody = request.body !== undefined && request.method !== "GET" && request.method !== "HEAD";
  return await rig.fetch(`${path}?${search}`, {
    method: request.method,
    headers: {
      authorization: "Bearer root",
      ...(hasBody && { "content-type": "application/json" }),
      ...request.headers,
    },
    ...(hasBody && { body: JSON.stringify(request.body) }),
  });
}

function isInEnvelope({ envelope, text, headers }: Answered, method: string): void {
  if (method === "HEAD" || method === "OPTIONS") return;
  // Dots in a path may lead out of /api, to the page.
  if (headers.get("content-type")?.startsWith("text/html") === true) return;
  if (envelope.code === 0) assert.ok("data" in envelope, text);
  else assert.deepEqual([typeof envelope.code, typeof envelope.message], ["string", "string"], text);
}

describe("fuzzing", () => {
  test("12.6 no request makes the server fail", { timeout: 60_000 }, async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root", domains: { small: { size: 1 } }, logLevel: "error" });
    await rig.ok("createWorkflow", { token: "root", body: { name: "two", dagSpec: twoNodes } });
    await rig.ok("triggerWorkflow", { token: "root", params: { id: "hello" }, query: { instanceId: "first" } });
    await rig.ok("triggerWorkflow", { token: "root", params: { id: "talk" }, query: { instanceId: "1" } });
    await rig.ok("triggerWorkflow", { token: "root", params: { id: "fails" }, query: { instanceId: "failed" } });
    const document = JSON.parse((await rig.fetch("/api/openapi.json")).text) as OpenApi;
    let done = 0;
    const property = fc.asyncProperty(requestsOf(document), async (request) => {
      const answered = await send(rig, request);
      assert.ok(answered.status < 500, `${answered.status} ${answered.text} ${rig.problems.join("\n")}`);
      isInEnvelope(answered, request.method);
      if (answered.envelope.code === 0) done++;
    });
    const numRuns = Number(process.env["HEDDLE_FUZZ_RUNS"] ?? 500);
    await fc.assert(property, { numRuns, interruptAfterTimeLimit: 20_000, endOnFailure: true });
    // Otherwise it would only be known that nonsense is refused.
    assert.ok(done > 50, `only ${done} requests did something`);
    await rig.ok("getCluster", { token: "root" });
  });
});
