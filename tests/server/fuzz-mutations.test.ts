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
import { Watcher } from "./push-rig.ts";
import { type Subjects, validRequests } from "./valid-requests.ts";

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
const subjects: fc.Arbitrary<Subjects> = fc.record({
  instance: fc.constantFrom("alive", "paused", "ended", "schedule:often", "schedule:held", "schedule:orphan", "none"),
  workflow: fc.constantFrom("two", "talk", "hello", "gone", "none"),
  schedule: fc.constantFrom("often", "held", "orphan", "none"),
  token: fc.constantFrom("spare", "none"),
});

async function begin(t: Parameters<typeof ServerRig.start>[0]): Promise<ServerRig> {
  const rig = await ServerRig.start(t, { adminToken: "root", requestTimeoutSeconds: 20 });
  const token = "root";
  for (const name of ["two", "gone"]) await rig.ok("createWorkflow", { token, body: { name, dagSpec: twoNodes } });
  for (const [scheduleId, workflow] of [
    ["often", "two"],
    ["held", "hello"],
    ["orphan", "gone"],
  ] as const) {
    await rig.ok("createSchedule", { token, body: { scheduleId, workflow, every: { rateMs: 86_400_000 } } });
  }
  for (const instanceId of ["alive", "paused"]) {
    await rig.ok("triggerWorkflow", { token, params: { id: "talk" }, query: { instanceId }, body: {} });
  }
  await rig.ok("triggerWorkflow", { token, params: { id: "hello" }, query: { instanceId: "ended" } });
  for (const id of ["paused", "schedule:held"]) await rig.ok("pauseInstance", { token, params: { id } });
  await rig.ok("deleteWorkflow", { token, params: { id: "gone" } });
  return rig;
}

describe("fuzzing with valid requests", () => {
  test("no mutation makes the server fail or wait without end", { timeout: 120_000 }, async (t) => {
    const rig = await begin(t);
    const request = fc.record({
      name: fc.constantFrom(...names),
      of: subjects,
      mutations: fc.array(mutation, { maxLength: 3 }),
    });
    let done = 0;
    const property = fc.asyncProperty(request, async ({ name, of, mutations }) => {
      const { body, ...rest } = mutated(validRequests(of)[name], mutations);
      const sent = paths[name].startsWith("GET") || body === undefined ? rest : { ...rest, body };
      const answered = await rig.send(name, { ...sent, token: "root" });
      const told = `${name} ${JSON.stringify(sent)}: ${answered.status} ${answered.text.slice(0, 300)}`;
      assert.ok(answered.status < 500, `${told} ${rig.problems.slice(-3).join("\n")}`);
      if (answered.envelope.code === 0) done++;
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
