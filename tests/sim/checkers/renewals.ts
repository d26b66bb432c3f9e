import { shardOfKey } from "../../../src/stores/instance-key.ts";
import type { Evidence, LifeRecord, WorkerRenewal } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";
import { attemptName } from "../../recovery/side-effects.ts";

/** Clocks have a resolution of one millisecond. */
const roundingMs = 2;

/**
 * A host renews the leases of foreign attempts for their owner. A renewal counts from no later than the host's last
 * request to the owner, from its offer of the slot, or from when it owned the shard itself: an owner without news counts from when it received that
 * request, and must not declare the attempt lost before its lease expires.
 */
export const checkRenewals: Checker = (evidence) => {
  const questions = questionsOf(evidence);
  return evidence.lives.flatMap(({ workerRenewals }) =>
    workerRenewals.flatMap((renewal) => {
      const member = evidence.lives[renewal.member - 1];
      // The clock of a suspended machine does not show the age of an answer.
      if (member === undefined || member.freezes.some(({ kind }) => kind === "suspended")) return [];
      return [...renewal.withheld].flatMap(([attemptId, ageMs]) => {
        if (ageMs === Infinity) return [];
        const askedAt = questions.get(`${member.number} ${attemptId}`)?.findLast((at) => at <= renewal.knownAt);
        const countsFrom = Math.max(askedAt ?? -Infinity, ownedUntil(evidence, member, attemptId, renewal));
        const lateMs = renewal.sentAt - ageMs / member.rate - countsFrom;
        if (lateMs <= roundingMs) return [];
        return [`life ${member.number} renewed ${attemptId} from ${lateMs.toFixed(0)} ms after it had asked its owner`];
      });
    }),
  );
};

/** The times of renewal requests, and of offers of slots that were granted to the attempt, in order, by process and attempt. */
function questionsOf({ renewalRequests }: Evidence): ReadonlyMap<string, readonly number[]> {
  const questions = new Map<string, number[]>();
  for (const { life, at, attemptIds } of renewalRequests) {
    for (const attemptId of attemptIds) {
      const key = `${life} ${attemptId}`;
      const known = questions.get(key);
      if (known === undefined) questions.set(key, [at]);
      else known.push(at);
    }
  }
  for (const times of questions.values()) times.sort((a, b) => a - b);
  return questions;
}

/** The last time at which the member owned the shard of the attempt; -Infinity if it never did. */
function ownedUntil(evidence: Evidence, { number }: LifeRecord, attemptId: string, { knownAt }: WorkerRenewal): number {
  const { instanceId, generation } = attemptName(attemptId);
  const instance = commitHistoryOf(evidence).at(instanceId, generation);
  if (instance === undefined) return knownAt;
  const shard = shardOfKey(instance.key);
  const claims = evidence.claims.filter((claim) => claim.shard === shard && claim.at <= knownAt);
  const place = claims.findLastIndex(({ life }) => life === number);
  if (place === -1) return -Infinity;
  return claims[place + 1]?.at ?? knownAt;
}
