import * as fc from "fast-check";
import type {
  Changes,
  DefinitionRow,
  FinishedRow,
  HistoryRow,
  InstanceFilter,
  InstanceRow,
  OffsetRow,
  OutboxRow,
  DomainRow,
  RequestRow,
  TrimRow,
  TurnText,
} from "../../../src/stores/store.ts";
import { appendTurn } from "../../../src/stores/turn-text.ts";

/** Few values, so that rows meet each other often. */
const key = fc.integer({ min: 1, max: 6 });
/** An instance is either unfinished or finished. */
const unfinishedKey = fc.integer({ min: 1, max: 3 });
const finishedKey = fc.integer({ min: 4, max: 6 });
export const small = fc.integer({ min: 0, max: 3 });
export const time = fc.integer({ min: 0, max: 20 });
/** Messages go to one shard more than there are owners. */
export const shard = fc.integer({ min: 0, max: 2 });

export const texts = ["a", "ab", "b", "", "\u0000", "\ud800", "\udc00", "\ufdd0", "😀"] as const;
export const text = fc.constantFrom(...texts);
const textOrNull = fc.option(text);
const unfinished = fc.constantFrom("Ready" as const, "Running" as const, "Paused" as const);
const ended = fc.constantFrom("Success" as const, "Failed" as const, "Terminated" as const);

/** Turns in the row of an instance have other numbers than those in rows of their own. */
const turnText = fc.option(
  fc.uniqueArray(text, { minLength: 1, maxLength: 3 }).map((all) => {
    let joined: TurnText | null = null;
    for (const [place, events] of all.entries()) {
      joined = appendTurn(joined, { instance: 0, turn: 100 + place, firstEvent: place, at: place, events });
    }
    return joined;
  }),
);

const instance = fc.record<InstanceRow>({
  key: unfinishedKey,
  id: text,
  workflow: text,
  version: text,
  status: unfinished,
  generation: small,
  wakeAt: fc.option(time),
  active: fc.boolean(),
  waitingTasks: small,
  createdAt: time,
  updatedAt: time,
  quarantined: textOrNull,
  app: textOrNull,
  history: turnText,
});

/** Whatever ends was created before. */
const finished = fc.record<FinishedRow>({
  key: finishedKey,
  id: text,
  workflow: text,
  version: text,
  status: ended,
  generation: small,
  reason: textOrNull,
  createdAt: time,
  endedAt: time.map((at) => 20 + at),
  tasks: small,
  tasksFailed: small,
  app: textOrNull,
  history: turnText,
});

const history = fc.record<HistoryRow>({ instance: key, turn: time, firstEvent: small, at: time, events: text });

const trim = fc.record<TrimRow>({ instance: key, turn: time, ref: time });
const outbox = fc.record<OutboxRow>({ source: shard, target: small, number: time.map((at) => at + 1), body: text });
const mark = fc.record<OffsetRow>({ shard: small, source: shard, number: time });
export const domain = fc.record<DomainRow>({
  name: text,
  size: small,
  priority: fc.integer({ min: -2, max: 2 }),
});

const request = fc.record<RequestRow>({ shard, idempotencyKey: text, at: time, refusal: fc.option(text) });

/** At most one change per key and table, as the committer sends them. */
function few<Row>(row: fc.Arbitrary<Row>, keyOf: (row: Row) => unknown): fc.Arbitrary<Row[]> {
  return fc.uniqueArray(row, { maxLength: 4, selector: (one) => JSON.stringify(keyOf(one)) });
}

const keys = few(key, (one) => one);

export const definitions: fc.Arbitrary<DefinitionRow[]> = few(
  fc.record({ name: text, version: text, spec: text, createdAt: time }),
  (row) => [row.name, row.version],
);

export const changes = fc.record<Changes>({
  purged: keys,
  trims: few(trim, (row) => row.instance),
  definitions,
  instances: few(instance, (row) => row.key),
  instancesEnded: keys,
  finished: few(finished, (row) => row.key),
  finishedReopened: keys,
  history: few(history, (row) => [row.instance, row.turn]),
  payloads: few(fc.record({ instance: key, ref: time, body: text }), (row) => [row.instance, row.ref]),
  outbox: few(outbox, (row) => [row.source, row.target, row.number]),
  offsets: few(mark, (row) => [row.shard, row.source]),
  domains: few(domain, ({ name }) => name),
  requests: few(request, (row) => [row.shard, row.idempotencyKey]),
  requestsForgotten: few(fc.record({ shard, before: time }), (row) => row.shard),
});

export const filter: fc.Arbitrary<InstanceFilter> = fc.record(
  {
    status: fc.uniqueArray(fc.oneof(unfinished, ended), { maxLength: 3 }),
    workflow: text,
    idPrefix: text,
    resumable: fc.boolean(),
    createdFrom: time,
    createdTo: time,
    before: fc.record({ createdAt: time, key }),
    limit: fc.integer({ min: 1, max: 10 }),
  },
  { requiredKeys: ["limit"] },
);
