import * as fc from "fast-check";
import type { Changes, DefinitionRow, DocumentRow, DomainRow } from "../../../src/stores/store.ts";
import { mailboxOf } from "../../../src/stores/mailbox.ts";
import { changes, definitions, domain, shard, small, text, time } from "./random-batches.ts";

/** What members may do, rightly or wrongly. */
export type Step =
  | { readonly kind: "claim"; readonly shard: number; readonly owner: string }
  | { readonly kind: "commit"; readonly fences: readonly RandomFence[]; readonly changes: Changes }
  | { readonly kind: "join"; readonly id: string; readonly address: string }
  | { readonly kind: "heartbeat"; readonly id: string }
  | { readonly kind: "renewLease"; readonly id: string; readonly atLeast: number }
  | { readonly kind: "remove"; readonly id: string; readonly ifHeartbeat: number | null }
  | { readonly kind: "post"; readonly mailbox: string; readonly body: string; readonly at: number }
  | { readonly kind: "delete-mail"; readonly index: number }
  | { readonly kind: "delete-mail-before"; readonly at: number }
  | { readonly kind: "declare-domains"; readonly domains: readonly DomainRow[] }
  | { readonly kind: "save-definitions"; readonly definitions: DefinitionRow[] }
  | { readonly kind: "save-document"; readonly document: DocumentRow }
  | { readonly kind: "delete-document"; readonly name: string; readonly revision: number }
  | { readonly kind: "append-lines"; readonly lines: readonly RandomLine[] }
  | { readonly kind: "delete-lines"; readonly prefix: string; readonly before: number }
  | { readonly kind: "delete-topic"; readonly topic: string }
  | { readonly kind: "settle"; readonly count: number };

export interface RandomLine {
  readonly topic: string;
  readonly at: number;
  readonly body: string;
}

/** How many batches and epochs its owner is behind. */
export interface RandomFence {
  readonly shard: number;
  readonly released: boolean;
  readonly batchLag: number;
  readonly epochLag: number;
}

export const memberIds = ["a", "b", "c"];
export const mailboxes = [mailboxOf("a"), mailboxOf("b"), "everybody"];

const id = fc.constantFrom(...memberIds);

function lagging(batchLag: fc.Arbitrary<number>, epochLag: fc.Arbitrary<number>): fc.Arbitrary<RandomFence> {
  return fc.record({ shard, released: fc.boolean(), batchLag, epochLag });
}

const none = fc.constant(0);
const fence = fc.oneof(
  { weight: 9, arbitrary: lagging(none, none) },
  { weight: 1, arbitrary: lagging(fc.integer({ min: -1, max: 2 }), small) },
);
const fences = fc.uniqueArray(fence, { minLength: 1, maxLength: 3, selector: (one) => one.shard });

function kind<Kind extends Step["kind"]>(of: Kind): { kind: fc.Arbitrary<Kind> } {
  return { kind: fc.constant(of) };
}

const revision = fc.integer({ min: 1, max: 3 });
const document = fc.record({ kind: fc.constant("token"), name: text, revision, at: time, body: text });
const line = fc.record({ topic: text, at: time, body: text });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...kind("claim"), shard, owner: id }) },
  { weight: 12, arbitrary: fc.record({ ...kind("commit"), fences, changes }) },
  { weight: 4, arbitrary: fc.record({ ...kind("join"), id, address: text }) },
  { weight: 2, arbitrary: fc.record({ ...kind("heartbeat"), id }) },
  { weight: 1, arbitrary: fc.record({ ...kind("renewLease"), id, atLeast: fc.nat(4) }) },
  {
    weight: 1,
    arbitrary: fc.record({ ...kind("remove"), id, ifHeartbeat: fc.option(fc.integer({ min: 0, max: 2 })) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ ...kind("post"), mailbox: fc.constantFrom(...mailboxes), body: text, at: time }),
  },
  { weight: 1, arbitrary: fc.record({ ...kind("delete-mail"), index: small }) },
  { weight: 1, arbitrary: fc.record({ ...kind("delete-mail-before"), at: time }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...kind("declare-domains"),
      domains: fc.array(domain, { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...kind("save-definitions"), definitions }) },
  { weight: 4, arbitrary: fc.record({ ...kind("save-document"), document }) },
  { weight: 1, arbitrary: fc.record({ ...kind("delete-document"), name: text, revision }) },
  { weight: 3, arbitrary: fc.record({ ...kind("append-lines"), lines: fc.array(line, { maxLength: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ ...kind("delete-lines"), prefix: text, before: time }) },
  { weight: 1, arbitrary: fc.record({ ...kind("delete-topic"), topic: text }) },
  { weight: 1, arbitrary: fc.record({ ...kind("settle"), count: small }) },
);

/** Begins with an owner for every shard, so that commits land more often than not. */
export const steps: fc.Arbitrary<Step[]> = fc
  .tuple(fc.tuple(id, id, id), fc.array(step, { maxLength: 20 }))
  .map(([owners, rest]) => [...owners.map((owner, shard): Step => ({ kind: "claim", shard, owner })), ...rest]);
