import type { Evidence, LifeRecord, Moment, RestoreRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { checkHealth } from "./health.ts";

const rolledBack = /the store was rolled back/;

/** The time that a heartbeat may take on its way, beside the interval between two. */
const onTheWayMs = 5000;

/**
 * A member with a heartbeat that was acknowledged to its event loop after the backup stops when the backup is restored, idle
 * or not, within an interval of heartbeats. Heartbeats of its thread do not count: while the loop is blocked the member
 * learns and writes nothing, so it has nothing in memory that the backup contradicts. It writes nothing afterwards. A commit that it sent before may still arrive: the store takes it
 * if the shard stands where the commit begins, which is then no contradiction.
 */
export const checkRollbacks: Checker = (evidence) =>
  evidence.restores.flatMap((restore) =>
    evidence.lives.flatMap((life) => (mustNotice(life, restore, evidence) ? checkStop(life, restore, evidence) : [])),
  );

function mustNotice(life: LifeRecord, { backedUp, restored }: RestoreRecord, { memberships }: Evidence): boolean {
  if (life.role !== "member" || life.up === undefined || life.up.order > restored.order) return false;
  if (life.stopping !== undefined || (life.end?.order ?? Infinity) < restored.order) return false;
  return life.renewals.some(({ member, sentAt, knownAt, isByThread }) => {
    if (isByThread === true) return false;
    const joined = memberships.find((record) => record.member === member && record.what === "joined");
    const isBackedUp = joined !== undefined && joined.order < backedUp.order;
    return isBackedUp && sentAt > backedUp.at && knownAt < restored.at;
  });
}

function checkStop(life: LifeRecord, { restored }: RestoreRecord, evidence: Evidence): string[] {
  const { logLines, commits, setting } = evidence;
  const noticed = logLines.find((line) => line.life === life.number && rolledBack.test(line.message));
  const withinMs = setting.timings.beatMs * 1.2 + onTheWayMs;
  if (noticed === undefined || noticed.at > restored.at + withinMs)
    return [`life ${life.number} did not notice within ${withinMs} ms that the store went back`];
  const late = commits.filter((commit) => commit.life === life.number && commit.sent.order > noticed.order);
  return late.length === 0 ? [] : [`life ${life.number} wrote ${late.length} batches after the store went back`];
}

/**
 * No number is given to two messages between two shards, be it before and after a restore. Between a restore and the time at
 * which it is made known, a process that began just then cannot know better.
 */
export const checkMessageNumbers: Checker = ({ commits, restores: [restore] }) => {
  const wrong: string[] = [];
  const batches = new Map<string, string>();
  const isBetween = ({ order }: Moment): boolean =>
    restore !== undefined && order > restore.restored.order && order < (restore.known?.order ?? Infinity);
  for (const commit of commits) {
    const { batch } = commit;
    if (isBetween(commit)) continue;
    for (const { source, target, number } of batch.changes.outbox) {
      const fence = batch.fences.find(({ shard }) => shard === source);
      const name = `message ${number} from shard ${source} to ${target}`;
      const sentBy = `${fence?.epoch}/${fence?.number}`;
      const before = batches.get(name);
      if (before !== undefined && before !== sentBy) wrong.push(`${name} was sent by batches ${before} and ${sentBy}`);
      batches.set(name, sentBy);
    }
  }
  return wrong;
};

/** After a restore, what was accepted is lost; what the store has must come to its end nevertheless. */
export const checkRestoredLiveness: Checker = ({ finalState, problems }) => [
  ...problems,
  ...finalState.instances.flatMap(({ id, quarantined }) => (quarantined === null ? [] : [`${id} is quarantined`])),
];

/**
 * A process that notices a restore may meet rows before that contradict its memory, such as an instance without its
 * definition. What it reports of them is not written: its shards went back.
 */
export const checkRestoredHealth: Checker = (evidence) => {
  const { logLines, restores } = evidence;
  const noticed = new Set(logLines.filter(({ message }) => rolledBack.test(message)).map(({ life }) => life));
  const restored = restores[0]?.restored.order ?? Infinity;
  return checkHealth({
    ...evidence,
    logLines: logLines.filter(({ life, order }) => !noticed.has(life) || order < restored),
  });
};
