import type { SessionAttempt } from "./session-attempt.ts";
import type { GrantKey, LeaseRenewal, RenewalAge } from "./session-message.ts";

/** What a member answers to a heartbeat that lists these attempts: leases are renewed of those that an owner follows. */
export function renewLeases(
  running: readonly GrantKey[],
  attempts: ReadonlyMap<string, SessionAttempt>,
  renewalAgeMs: (attemptId: string) => number = () => 0,
): Omit<LeaseRenewal, "sequence"> {
  const unwanted: GrantKey[] = [];
  const undecided: GrantKey[] = [];
  const renewalAges: RenewalAge[] = [];
  for (const { attemptId, grant } of running) {
    const attempt = attempts.get(attemptId);
    const ageMs = renewalAgeMs(attemptId);
    if (attempt?.grant !== grant) unwanted.push({ attemptId, grant });
    else if (!attempt.isFollowed) undecided.push({ attemptId, grant });
    else if (ageMs > 0) renewalAges.push({ attemptId, grant, ageMs });
  }
  return { unwanted, undecided, renewalAges };
}
