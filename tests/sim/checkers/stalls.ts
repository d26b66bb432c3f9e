import { type Evidence, isBefore, type LifeRecord, type Moment } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, type DurableEvent, eventsOf, type InstanceCommits } from "./commit-history.ts";

/** Clocks have a resolution of one millisecond. */
const roundingMs = 2;

/**
 * An owner that was stalled received no renewals for its own reasons. After a stall of more than half of
 * `workerLostMs`, it gives hosts the other half, from when it continues, to report: it does not count an attempt as
 * interrupted before that while a living worker has its result.
 */
export const checkStalls: Checker = (evidence) => {
  const graceMs = evidence.setting.timings.workerLostMs / 2;
  return [...commitHistoryOf(evidence).instances.values()].flatMap((instance) =>
    eventsOf(instance).flatMap((interruption) => {
      if (interruption.event.type !== "TaskInterrupted") return [];
      const owner = ownerAt(evidence, instance, interruption.landed);
      const stall = owner && lastStall(owner, interruption.landed, graceMs);
      if (owner === undefined || stall === undefined) return [];
      const sinceMs = (interruption.landed.at - stall.to.at) * owner.rate;
      if (sinceMs >= graceMs - roundingMs) return [];
      return checkResult(evidence, { instance, interruption, owner, stall });
    }),
  );
};

interface Stall {
  readonly from: Moment;
  readonly to: Moment;
}

/** The process that wrote the turn. */
function ownerAt({ lives }: Evidence, { turns }: InstanceCommits, landed: Moment): LifeRecord | undefined {
  return lives[(turns.find((turn) => turn.landed.order === landed.order)?.life ?? 0) - 1];
}

function lastStall({ freezes, rate }: LifeRecord, at: Moment, leastMs: number): Stall | undefined {
  const last = freezes.findLast(({ to }) => to !== undefined && isBefore(to, at));
  if (last?.to === undefined || last.kind === "suspended") return undefined;
  return (last.to.at - last.from.at) * rate > leastMs ? { from: last.from, to: last.to } : undefined;
}

function checkResult(
  evidence: Evidence,
  parts: { instance: InstanceCommits; interruption: DurableEvent; owner: LifeRecord; stall: Stall },
): string[] {
  const { instance, interruption, owner, stall } = parts;
  const { event, generation, landed } = interruption;
  if (event.type !== "TaskInterrupted") return [];
  const attemptId = `${instance.id}:${generation}:${event.task}:${event.attempt}`;
  const run = evidence.runs.findLast((each) => each.attemptId === attemptId && isBefore(each.start, landed));
  const worker = run && evidence.lives[run.life - 1];
  const hasResult = run?.end !== undefined && run.end.how !== "aborted" && isBefore(run.end, stall.to);
  if (!hasResult || worker?.role !== "worker") return [];
  if (worker.end !== undefined && isBefore(worker.end, landed)) return [];
  // A worker that is connected to the owner itself needs no host.
  const since = stall.from.at - evidence.setting.timings.workerLostMs;
  const workerRenewals = worker.workerRenewals.filter(({ knownAt }) => knownAt >= since && knownAt <= landed.at);
  if (workerRenewals.length === 0 || workerRenewals.some(({ member }) => member === owner.number)) return [];
  return [
    `${attemptId} was counted as interrupted by life ${owner.number}, which had stood still, and life ${worker.number} had its result`,
  ];
}
