/**
 * Valid requests, changed deeply: values at edges, in every field, about things that are paused, ended, deleted or gone. No
 * answer is a failure of the server, and none is missing: a wait that only the deadline ends counts as a failure, too.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { type Sent, ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import type { JsonSchema } from "./schema-values.ts";
import { Watcher } from "./push-rig.ts";
import type { OpenApi, Operation } from "../../src/server/http/openapi.ts";
import { optionalFields, type Subjects, validRequests } from "./valid-requests.ts";

const runs = Number(process.env["HEDDLE_FUZZ_RUNS"] ?? 400);

/** Draining would end the test for all that come after it. */
const names = (Object.keys(paths) as RouteName[]).filter((name) => name !== "drain");

const numbers = [0, -0, -1, 1, 0.5, 1e15, 8e15, 8.64e15, 8.64e15 + 1, 2 ** 31, 2 ** 53, 1e308, 253_402_300_799_999];
const texts = [
  "",
  " ",
  "\0",
  "\n",
  "\u202E",
  "💥",
  "x".repeat(200),
  "x".repeat(513),
  "x".repeat(5000),
  "__proto__",
  "%",
];
const words = ["schedule:often", "key:x", "../..", "0 0 30 2 ? 3 1L", "* * * * * *", "9".repeat(400), "Mars/Olympus"];
const shapes: unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  { constructor: 1 },
  { a: { b: { c: [1, { d: null }] } } },
];

const edges: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(...numbers, ...texts, ...words, ...shapes);

type Mutation = { readonly at: number; readonly how: "replace" | "drop" | "wrap" | "add"; readonly value: unknown };

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat({ max: 40 }),
  how: fc.constantFrom("replace" as const, "replace" as const, "drop" as const, "wrap" as const, "add" as const),
  value: edges,
});

/** Every place of a value, by its keys. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, each]) => placesOf(each, [...path, key]))];
}

function changed(value: unknown, path: readonly string[], { how, value: edge }: Mutation): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    if (how === "wrap") return [value];
    if (how === "add" && typeof value === "object" && value !== null) return { ...value, extra: edge };
    return how === "drop" ? undefined : edge;
  }
  if (Array.isArray(value))
    return value.map((each: unknown, at) =>
      String(at) === key ? changed(each, rest, { at, how, value: edge }) : each,
    );
  const object = value as Record<string, unknown>;
  return { ...object, [key]: changed(object[key], rest, { at: 0, how, value: edge }) };
}

/** Changes the body, the path or the query; never the shape of the request itself. */
function mutated(sent: Sent, mutations: readonly Mutation[]): Sent {
  let request: Record<string, unknown> = { params: sent.params, query: sent.query, body: sent.body };
  for (const each of mutations) {
    const places = placesOf(request).filter((path) => path.length > 1 || path[0] === "body");
    const place = places[each.at % Math.max(places.length, 1)];
    if (place !== undefined) request = changed(request, place, each) as Record<string, unknown>;
  }
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}

/** What there is, as it may be: alive, paused, ended, deleted, never there. */
const states = {
  instance: ["alive", "paused", "ended", "schedule:often", "schedule:held", "schedule:orphan", "none"],
  workflow: ["two", "talk", "hello", "gone", "none"],
  schedule: ["often", "held", "orphan", "none"],
  token: ["spare", "none"],
} as const;

const subjects: fc.Arbitrary<Omit<Subjects, "serial">> = fc.record({
  instance: fc.constantFrom(...states.instance),
  workflow: fc.constantFrom(...states.workflow),
  schedule: fc.constantFrom(...states.schedule),
  token: fc.constantFrom(...states.token),
});

/** Every state of each subject, with the others alive. */
const everySubject: readonly Omit<Subjects, "serial">[] = Object.entries(states).flatMap(([kind, names]) =>
  names.map((name) => ({ instance: "alive", workflow: "two", schedule: "often", token: "spare", [kind]: name })),
);

let serial = 0;

function validRequest(name: RouteName, of: Omit<Subjects, "serial">): Sent {
  return validRequests({ ...of, serial: serial++ })[name];
}

interface Field {
  readonly part: "query" | "body";
  readonly key: string;
  readonly value: unknown;
}

/** The fields that an operation takes beside its valid request. */
function fieldsOf(name: RouteName): Field[] {
  const { query = {}, body = {} } = optionalFields[name] ?? {};
  return [
    ...Object.entries(query).map(([key, value]) => ({ part: "query" as const, key, value })),
    ...Object.entries(body).map(([key, value]) => ({ part: "body" as const, key, value: value as unknown })),
  ];
}

function withField(sent: Sent, { part, key, value }: Field): Sent {
  return { ...sent, [part]: { ...(sent[part] as object | undefined), [key]: value } };
}

/** Operations that change the state of a subject come after those that only need it. */
const changesSubject =
  /^(?:delete|terminate|cancel|pause|resume|change|update|patch|retry|rerun|stop|skip|succeed|raise)/;
const namesInOrder = [...names].sort((a, b) => Number(changesSubject.test(a)) - Number(changesSubject.test(b)));

function entriesOf(part: unknown): [string, unknown][] {
  return typeof part === "object" && part !== null ? Object.entries(part) : [];
}

async function check(rig: ServerRig, name: RouteName, { body, ...rest }: Sent): Promise<boolean> {
  const sent = paths[name].startsWith("GET") || body === undefined ? rest : { ...rest, body };
  const answered = await rig.send(name, { ...sent, token: "root" });
  const told = `${name} ${JSON.stringify(sent)}: ${answered.status} ${answered.text.slice(0, 300)}`;
  assert.ok(answered.status < 500, `${told} ${rig.problems.slice(-3).join("\n")}`);
  return answered.envelope.code === 0;
}

async function begin(t: Parameters<typeof ServerRig.start>[0]): Promise<ServerRig> {
  const rig = await ServerRig.start(t, { adminToken: "root", requestTimeoutSeconds: 20 });
  const token = "root";
  for (const name of ["two", "gone"]) await rig.ok("createWorkflow", { token, body: { name, dagSpec: twoNodes } });
  const every = { cron: "0 0 3 * * ?", timeZone: "UTC" };
  for (const [scheduleId, workflow] of [
    ["often", "two"],
    ["held", "hello"],
    ["orphan", "gone"],
  ] as const) {
    await rig.ok("createSchedule", { token, body: { scheduleId, workflow, every } });
  }
  for (const instanceId of ["alive", "paused"]) {
    await rig.ok("triggerWorkflow", { token, params: { id: "talk" }, query: { instanceId }, body: {} });
  }
  await rig.ok("triggerWorkflow", { token, params: { id: "hello" }, query: { instanceId: "ended" } });
  await rig.ok("pauseInstance", { token, params: { id: "paused" } });
  await rig.server.engine.pauseWorkflowInstance("schedule:held");
  await rig.ok("deleteWorkflow", { token, params: { id: "gone" } });
  return rig;
}

describe("fuzzing with valid requests", () => {
  test("every field of the contract is in a valid request", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "root" });
    const answer = await fetch(`${rig.server.url}/api/openapi.json`, { headers: { authorization: "Bearer root" } });
    const document = (await answer.json()) as OpenApi;
    const operations: readonly Operation[] = Object.values(document.paths).flatMap((each) => Object.values(each));
    for (const { operationId, parameters, requestBody } of operations) {
      const name = operationId as RouteName;
      const sent = fieldsOf(name).reduce(withField, validRequest(name, everySubject[0] as Subjects));
      const { properties = {} } = (requestBody?.content["application/json"].schema ?? {}) as JsonSchema;
      const query = parameters.filter((each) => each.in === "query").map((each) => each.name);
      for (const [part, keys] of Object.entries({ query, body: Object.keys(properties) })) {
        const given = entriesOf(sent[part as "query" | "body"]).map(([key]) => key);
        const missing = keys.filter((key) => !given.includes(key));
        assert.deepEqual(missing, [], `${part} of ${name}`);
      }
    }
  });

  test("no operation fails or waits without end, whatever state its subject is in", { timeout: 240_000 }, async (t) => {
    const rig = await begin(t);
    for (const name of namesInOrder) {
      const seen = new Set<string>();
      for (const of of everySubject) {
        const same = JSON.stringify(validRequests({ ...of, serial: 0 })[name]);
        if (!seen.has(same)) await check(rig, name, validRequest(name, of));
        seen.add(same);
      }
    }
    await rig.ok("getCluster", { token: "root" });
  });

  test("no operation fails or waits without end, whatever number is in a field", { timeout: 240_000 }, async (t) => {
    const rig = await begin(t);
    const of = everySubject[0] as Subjects;
    for (const name of namesInOrder) {
      const valid = validRequest(name, of);
      const own = (["query", "body"] as const).flatMap((part) =>
        entriesOf(valid[part]).map(([key, value]) => ({ part, key, value })),
      );
      for (const field of [...own, ...fieldsOf(name)]) {
        await check(rig, name, withField(validRequest(name, of), field));
        if (typeof field.value !== "number") continue;
        for (const value of numbers) await check(rig, name, withField(validRequest(name, of), { ...field, value }));
      }
    }
    await rig.ok("getCluster", { token: "root" });
  });

  test("no mutation makes the server fail or wait without end", { timeout: 120_000 }, async (t) => {
    const rig = await begin(t);
    const request = fc.record({
      name: fc.constantFrom(...names),
      of: subjects,
      added: fc.infiniteStream(fc.boolean()),
      mutations: fc.array(mutation, { maxLength: 3 }),
    });
    let done = 0;
    const property = fc.asyncProperty(request, async ({ name, of, added, mutations }) => {
      const fields = fieldsOf(name).filter(() => added.next().value);
      const sent = mutated(fields.reduce(withField, validRequest(name, of)), mutations);
      if (await check(rig, name, sent)) done++;
    });
    await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: 40_000, endOnFailure: true });
    assert.ok(done > runs / 20, `only ${done} requests did something`);
    await rig.ok("getCluster", { token: "root" });
  });

  test("nor does any of 10,000 mutated messages over /ws", { timeout: 120_000 }, async (t) => {
    const rig = await begin(t);
    const valid = [
      { type: "subscribe", id: "a", all: true },
      { type: "subscribe", id: "b", workflow: "two", cursor: "000000000000:1:1" },
      { type: "subscribe", id: "c", instanceId: "alive", cursor: "000000000000:1:1:1:1" },
      { type: "unsubscribe", id: "a" },
      { type: "ping" },
    ];
    const messages = fc.sample(
      fc.tuple(fc.constantFrom(...valid), fc.array(mutation, { maxLength: 3 })).map(([message, mutations]) => {
        let body: unknown = message;
        for (const each of mutations) body = changed(body, placesOf(body)[each.at % placesOf(body).length] ?? [], each);
        return JSON.stringify(body) ?? "";
      }),
      { numRuns: 10_000, seed: Number(process.env["HEDDLE_FUZZ_SEED"] ?? Date.now()) },
    );
    // A socket is allowed 1,000 within ten seconds.
    for (let from = 0; from < messages.length; from += 900) {
      const watcher = await Watcher.open(rig.server, { query: "?token=root" });
      for (const message of messages.slice(from, from + 900)) watcher.say(message);
      watcher.say({ type: "subscribe", id: "the last one", instanceId: "alive" });
      await watcher.until(
        () => watcher.closed !== undefined || watcher.messages.some(({ id }) => id === "the last one"),
      );
      assert.equal(watcher.closed, undefined);
      await watcher.close();
    }
    await rig.ok("getCluster", { token: "root" });
  });
});
