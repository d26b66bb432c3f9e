import * as fc from "fast-check";
import { unreachable } from "../../src/base/assert.ts";
import { textOfEvents } from "../../src/kernel/event-text.ts";
import type { ParentAddress } from "../../src/kernel/address.ts";
import type { DagSpec } from "../../src/kernel/dag/dag-spec.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { Payload } from "../../src/kernel/payload.ts";
import type { EndStatus, InstanceStatus } from "../../src/kernel/status.ts";
import type { OutboxMessage } from "../../src/runtime/outbox.ts";
import { firstKey } from "../../src/stores/instance-key.ts";
import { type Changes, type DefinitionRow, noChanges, type Store } from "../../src/stores/store.ts";
import { shardOf } from "../engine/engine-cluster-rig.ts";
import { documentRow, jobRow } from "../contract/store/rows.ts";
import { Owner } from "../contract/store/subject.ts";

/** An instance as the property draws it; whom it speaks of is named by place, so that it can be anybody. */
interface DrawnInstance {
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly status: InstanceStatus;
  readonly createdAt: number;
  readonly quarantined: string | null;
  readonly text: string | null;
  readonly turns: readonly DrawnTurn[];
  readonly attempts: number;
}

interface DrawnTurn {
  readonly kind: "created" | "parent-changed" | "succeeded" | "added" | "reopened";
  readonly at: number;
  readonly text: string;
  readonly isLarge: boolean;
  readonly other: number;
}

interface DrawnMessage {
  readonly kind: OutboxMessage["kind"];
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly isRefusal: boolean;
}

export interface DrawnContents {
  readonly instances: readonly DrawnInstance[];
  readonly messages: readonly DrawnMessage[];
  readonly documents: readonly string[];
  readonly released: boolean;
}

const ended: readonly InstanceStatus[] = ["Success", "Failed", "Terminated"];
const workflows = ["nightly", "hourly", "\ud800 odd \u2028"];
const versions = ["v1", "v2", "v3"];
/** Texts that databases and readers of lines are known to trip over. */
const text = fc.constantFrom(
  "",
  "a",
  "\u0000",
  "\ud800",
  "\ufdd0",
  "😀",
  "\u2028\u2029\r\n",
  '"ref":{"parent":{',
  "x".repeat(300),
);
const time = fc.integer({ min: 0, max: 30 });
const place = fc.nat({ max: 9 });

const turn = fc.record<DrawnTurn>({
  kind: fc.constantFrom("created", "parent-changed", "succeeded", "added", "reopened"),
  at: time,
  text,
  isLarge: fc.boolean(),
  other: place,
});

const instance = fc.record<DrawnInstance>({
  id: fc.oneof(
    fc.integer({ min: 0, max: 40 }).map((number) => `i-${number}`),
    text,
  ),
  workflow: fc.constantFrom(...workflows),
  version: fc.constantFrom(...versions),
  status: fc.constantFrom("Ready", "Running", "Paused", "Success", "Failed", "Terminated"),
  createdAt: time,
  quarantined: fc.option(text),
  text: fc.option(text),
  turns: fc.array(turn, { maxLength: 5 }),
  attempts: fc.nat({ max: 3 }),
});

const message = fc.record<DrawnMessage>({
  kind: fc.constantFrom(
    "start-child",
    "tell-child",
    "tell-parent",
    "cancel-other",
    "raise-event",
    "enter-gate",
    "leave-gate",
    "admit",
    "tombstone",
  ),
  from: place,
  to: place,
  text,
  isRefusal: fc.boolean(),
});

/** An id has at most one unfinished instance and one finished; of several, the store gives only the newest in full. */
export const contents: fc.Arbitrary<DrawnContents> = fc.record({
  instances: fc.uniqueArray(instance, {
    maxLength: 10,
    selector: ({ id, status }) => JSON.stringify([id, ended.includes(status)]),
  }),
  messages: fc.array(message, { maxLength: 12 }),
  documents: fc.uniqueArray(text, { maxLength: 4 }),
  released: fc.boolean(),
});

/** Of each workflow of the catalogue, in the order they are saved, which is no other order. */
export const savedVersions = ["v2", "v3", "v1"];

/** Who once owned every shard. */
export const lastOwner = "engine:1";

/** Writes it into an empty store of so many shards. Places that nobody has stand for instances that were purged. */
export async function fill(store: Store, shardCount: number, drawn: DrawnContents): Promise<void> {
  const shards = await store.settleShardCount(shardCount);
  const last = Array.from({ length: shards }, (_, shard) => firstKey(shard) - 1);
  const keys = Array.from({ length: 10 }, (_, number) => {
    const id = drawn.instances[number]?.id ?? `gone-${number}`;
    const shard = shardOf(id, shards);
    const key = (last[shard] ?? 0) + 1;
    last[shard] = key;
    return { id, key, shard };
  });
  const changes = Array.from({ length: shards }, () => noChanges());
  const rows = new Rows(keys);
  for (const [number, each] of drawn.instances.entries()) rows.add(changes[keys[number]?.shard ?? 0], number, each);
  addMessages(changes, keys, shards, drawn.messages);
  await store.saveJobs([jobRow({ id: "b" }), jobRow({ id: "a", missing: true, codePath: null })]);
  await store.declareDomains([{ name: "slow", size: 2, priority: -1 }]);
  await store.saveDefinitions(definitionsOf(drawn));
  await addDocuments(store, drawn.documents);
  for (const [shard, each] of changes.entries()) {
    const owner = await Owner.claim(store, shard, lastOwner);
    await owner.commit(each, { released: drawn.released, lastKey: last[shard] ?? 0 });
  }
}

/** In a second revision; those of workflows have versions that nobody ever started. */
async function addDocuments(store: Store, names: readonly string[]): Promise<void> {
  for (const kind of ["token", "workflow"]) {
    for (const name of names) {
      await store.saveDocument(documentRow({ kind, name }));
      await store.saveDocument(documentRow({ kind, name, revision: 2, at: 7, body: `${name} of ${kind}` }));
    }
  }
  const rows = names.flatMap((name) => savedVersions.map((version) => ({ name, version, spec: "{}", createdAt: 1 })));
  await store.saveDefinitions(rows);
}

interface Named {
  readonly id: string;
  readonly key: number;
  readonly shard: number;
}

class Rows {
  readonly #keys: readonly Named[];

  constructor(keys: readonly Named[]) {
    this.#keys = keys;
  }

  add(changes: Changes | undefined, number: number, drawn: DrawnInstance): void {
    const { key = 0 } = this.#keys[number] ?? {};
    const { id, workflow, version, status, createdAt, quarantined, text: reason } = drawn;
    const row = { key, id, workflow, version, generation: 1, createdAt, app: version };
    if (ended.includes(status)) {
      const end = { endedAt: createdAt + 1, tasks: 2, tasksFailed: 1, reason };
      changes?.finished.push({ ...row, ...end, status: status as EndStatus, history: null });
    } else {
      const standing = {
        status,
        quarantined,
        wakeAt: createdAt,
        active: quarantined === null,
        waitingTasks: drawn.attempts,
      };
      changes?.instances.push({ ...row, ...standing, updatedAt: 40, history: null });
    }
    for (const [turn, each] of drawn.turns.entries()) this.#addTurn(changes, key, turn, each);
  }

  #addTurn(changes: Changes | undefined, instance: number, turn: number, drawn: DrawnTurn): void {
    let place = 0;
    const payload = (body: string): Payload => {
      if (!drawn.isLarge) return JSON.stringify(body);
      const ref = turn * 65_536 + place++;
      changes?.payloads.push({ instance, ref, body });
      return { ref, bytes: body.length };
    };
    const events = textOfEvents([this.#event(drawn, payload), { type: "InstancePaused" }]);
    changes?.history.push({ instance, turn, firstEvent: turn * 2, at: drawn.at, events });
  }

  #event({ kind, text: body, other }: DrawnTurn, payload: (body: string) => Payload): Event {
    const parent = { ...addressOf(this.#keys, other), task: 0, attempt: 1, depth: 1 };
    // Users may call their own fields as we call ours.
    const node = {
      nodeId: 1,
      workflowName: "nested only here",
      workflowVersion: versionOf(body),
      odd: { ref: 1, bytes: 2 },
    };
    switch (kind) {
      case "created":
        return {
          type: "InstanceCreated",
          workflow: "nightly",
          version: "v1",
          generation: 1,
          context: { [body]: payload(body), b: payload("b") },
          maxConcurrentTasks: 5,
          trigger: "nested",
          parent,
        };
      case "parent-changed":
        return { type: "ParentChanged", parent };
      case "succeeded":
        return {
          type: "TaskSucceeded",
          task: 0,
          attempt: 1,
          output: payload(body),
          patch: { a: payload(body), b: null },
          subTasks: [node],
        };
      case "added":
        return { type: "TaskAdded", parent: 1, node };
      case "reopened":
        return {
          type: "InstanceReopened",
          generation: 2,
          reset: [0],
          settled: [{ task: 0, status: "Success", output: payload(body) }],
          parent,
        };
      default:
        return unreachable(kind, "the kind of a turn");
    }
  }
}

function addressOf(keys: readonly Named[], number: number): ParentAddress {
  const { id = "", key = 0 } = keys[number] ?? {};
  return { id, key, generation: 1, task: 0, attempt: 1, depth: 1 };
}

function addMessages(
  changes: readonly Changes[],
  keys: readonly Named[],
  shards: number,
  messages: readonly DrawnMessage[],
): void {
  const numbers = new Map<string, number>();
  for (const drawn of messages) {
    const { body, source } = written(drawn, keys, shards);
    const target = shardOf(body.to, shards);
    const pair = `${source}/${target}`;
    // Some were read before.
    const read = (source + target) % 3;
    if (!numbers.has(pair) && read > 0) changes[target]?.offsets.push({ shard: target, source, number: read });
    const number = (numbers.get(pair) ?? read) + 1;
    numbers.set(pair, number);
    changes[source]?.outbox.push({ source, target, number, body: JSON.stringify(body) });
  }
}

function written(drawn: DrawnMessage, keys: readonly Named[], shards: number): { body: OutboxMessage; source: number } {
  const { key: from = 0, id: instanceId = "", shard: source = 0 } = keys[drawn.from] ?? {};
  const { id: to = "" } = keys[drawn.to] ?? {};
  const workflow = "nightly";
  const gate = `workflow:${workflow}`;
  const parent = addressOf(keys, drawn.from);
  switch (drawn.kind) {
    case "start-child":
      return {
        body: { kind: "start-child", from, to, workflow, version: versionOf(drawn.text), context: {}, parent },
        source,
      };
    case "tell-child":
      return { body: { kind: "tell-child", from, to, order: { type: "RetryInstance", parent } }, source };
    case "tell-parent": {
      const report = { task: 0, attempt: 1, generation: 1, status: "Failed", reason: drawn.text } as const;
      return { body: { kind: "tell-parent", from, to, ...report, outputs: {} }, source };
    }
    case "cancel-other":
      return { body: { kind: "cancel-other", from, to, reason: drawn.text }, source };
    case "raise-event":
      return { body: { kind: "raise-event", from, to, name: drawn.text, data: JSON.stringify(drawn.text) }, source };
    case "enter-gate": {
      const limit = { max: 1, policy: "queue" } as const;
      return { body: { kind: "enter-gate", from, to: gate, workflow, instanceId, limit, isReopened: false }, source };
    }
    case "leave-gate":
      return { body: { kind: "leave-gate", from, to: gate, workflow, instanceId }, source };
    case "admit": {
      const refusal = { refuse: "fail", reason: drawn.text } as const;
      const body: OutboxMessage = { kind: "admit", from: 0, to, ...(drawn.isRefusal && { refusal }) };
      return { body, source: shardOf(gate, shards) };
    }
    case "tombstone":
      return { body: { kind: "tombstone", from, to }, source };
    default:
      return unreachable(drawn.kind, "the kind of a message");
  }
}

/** Versions are short. */
function versionOf(any: string): string {
  return any.slice(0, 20);
}

/** Every version that somebody needs. */
export function needed({ instances, messages }: DrawnContents): { readonly name: string; readonly version: string }[] {
  const own = instances.map(({ workflow: name, version }) => ({ name, version }));
  const added = instances.flatMap(({ turns }) => turns.filter(({ kind }) => kind === "succeeded" || kind === "added"));
  const nested = added.map((each) => ({ name: "nested only here", version: versionOf(each.text) }));
  const started = messages.filter(({ kind }) => kind === "start-child");
  const inMessages = started.map((each) => ({ name: "nightly", version: versionOf(each.text) }));
  const all = [...own, ...nested, ...inMessages];
  return all.length === 0 ? [] : [...all, { name: "inner", version: "v9" }];
}

/** Those that wait for a place have a maximum. */
function definitionsOf(drawn: DrawnContents): DefinitionRow[] {
  const nodes = [{ nodeId: 1, nodeType: 3, workflowName: "inner", workflowVersion: "v9" }] as const;
  const spec: DagSpec = { nodes: [...nodes], maxInstances: { max: 1, policy: "queue" } };
  return needed(drawn).map(({ name, version }) => ({
    name,
    version,
    spec: JSON.stringify(name === "inner" ? { nodes: [{ nodeId: 1 }] } : spec),
    createdAt: 1,
  }));
}
