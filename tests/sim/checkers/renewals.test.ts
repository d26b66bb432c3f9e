import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { created, EvidenceBuilder, solo } from "./evidence-builder.ts";
import { checkRenewals } from "./renewals.ts";

test("a member workerRenewals for an attempt from when it asked the owner, and no later", () => {
  const builder = new EvidenceBuilder({ isCluster: true });
  const [owner, host, worker] = [builder.life("m1"), builder.life("m2"), builder.life("w1", "worker")];
  builder.claim(owner);
  builder.turn(owner, 1, created(builder, solo));
  builder.lists.renewalRequests.push({ life: host.number, at: 2000, attemptIds: ["a:1:0:1"] });
  builder.now = 2500;
  builder.renew(worker, { "a:1:0:1": 500 }, host.number);
  expectViolations(checkRenewals, builder);
  builder.renew(worker, { "a:1:0:1": 400 }, host.number);
  expectViolations(checkRenewals, builder, /life 2 renewed a:1:0:1 from 100 ms after it had asked its owner/);
});

test("a member that has owned the shard workerRenewals for what it runs from then on", () => {
  const builder = new EvidenceBuilder({ isCluster: true });
  const [owner, host, worker] = [builder.life("m1"), builder.life("m2"), builder.life("w1", "worker")];
  builder.claim(host);
  builder.turn(host, 1, created(builder, solo));
  builder.now = 2000;
  builder.claim(owner);
  builder.now = 2500;
  builder.renew(worker, { "a:1:0:1": 500 }, host.number);
  expectViolations(checkRenewals, builder);
  builder.renew(worker, { "a:1:0:1": 300 }, host.number);
  expectViolations(checkRenewals, builder, /from 200 ms after/);
});
