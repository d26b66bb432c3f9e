/** Spec §7.1–§7.3: the behaviour that all stores share. */
import { claimSuite } from "./claim.ts";
import { commitSuite } from "./commit.ts";
import { definitionsSuite } from "./definitions.ts";
import { documentsSuite } from "./documents.ts";
import { domainsSuite } from "./domains.ts";
import { fencesSuite } from "./fences.ts";
import { historySuite } from "./history.ts";
import { incarnationSuite } from "./incarnation.ts";
import { instancesSuite } from "./instances.ts";
import { jobsSuite } from "./jobs.ts";
import { leasesSuite } from "./leases.ts";
import { outboxSuite } from "./outbox.ts";
import { linesSuite } from "./lines.ts";
import { listingSuite } from "./listing.ts";
import { mailSuite } from "./mailbox.ts";
import { membersSuite } from "./members.ts";
import { payloadsSuite } from "./payloads.ts";
import { purgeSuite } from "./purge.ts";
import { requestsSuite } from "./requests.ts";
import { shardCountSuite } from "./shard-count.ts";
import { textSuite } from "./text.ts";
import { trimsSuite } from "./trims.ts";
import { turnPlacesSuite } from "./turn-places.ts";
import type { MakeStore, StoreSuite } from "./subject.ts";

const suites: readonly StoreSuite[] = [
  shardCountSuite,
  membersSuite,
  claimSuite,
  leasesSuite,
  commitSuite,
  fencesSuite,
  historySuite,
  instancesSuite,
  listingSuite,
  payloadsSuite,
  outboxSuite,
  incarnationSuite,
  requestsSuite,
  mailSuite,
  domainsSuite,
  definitionsSuite,
  jobsSuite,
  documentsSuite,
  linesSuite,
  purgeSuite,
  trimsSuite,
  turnPlacesSuite,
  textSuite,
];

/** All that a store promises. */
export function storeContract(name: string, makeStore: MakeStore): void {
  for (const suite of suites) suite(name, makeStore);
}
