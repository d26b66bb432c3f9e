import type { Event } from "../../src/index.ts";
import {
  checkAttempts,
  checkDeadlines,
  checkEnds,
  checkHistory,
  checkInterruptions,
  checkLeftOver,
  checkLimit,
  checkNesting,
  checkRequests,
  checkSideEffects,
} from "./checkers.ts";
import type { Checker } from "./checkers.ts";
import type { Evidence, InstanceEvidence } from "./evidence.ts";
import { attemptName } from "./side-effects.ts";
import type { SideEffect, What } from "./side-effects.ts";

/** A wrong that a checker must see. */
export interface Planted {
  readonly name: string;
  readonly check: Checker;
  readonly doctored: Evidence;
}

/** The evidence of a good run, each time with one thing wrong. */
export function planted(evidence: Evidence): Planted[] {
  const chain = find(evidence, "-chain");
  const flaky = find(evidence, "-flaky");
  const retry = flaky.turns.flatMap(({ events }) => events).find((event) => event.type === "TaskFailed");
  const dueAt = retry?.retryAt ?? 0;
  const lateMs = 3_600_000;
  return [
    { name: "a lost instance", check: checkEnds, doctored: without(evidence, chain.id) },
    { name: "a wrong end", check: checkEnds, doctored: withInstance(evidence, { ...chain, status: "Failed" }) },
    {
      name: "a row left over",
      check: checkLeftOver,
      doctored: { ...evidence, leftOver: { "messages in the outbox": 1 } },
    },
    {
      name: "a gap in a history",
      check: checkHistory,
      doctored: withInstance(evidence, { ...chain, turns: chain.turns.toSpliced(1, 1) }),
    },
    {
      name: "an attempt too many",
      check: checkAttempts,
      doctored: withEvent(evidence, flaky, { type: "TaskStarted", task: 0, attempt: 99, worker: "", startedAt: 0 }),
    },
    { name: "a success that never happened", check: checkSideEffects, doctored: withoutEffects(evidence, chain.id) },
    {
      name: "a task that ran again",
      check: checkSideEffects,
      doctored: withEffect(evidence, "start", `${chain.id}:1:0:1`, Date.now()),
    },
    {
      name: "a task nobody scheduled",
      check: checkSideEffects,
      doctored: withEffect(evidence, "start", `${chain.id}:1:0:9`, Date.now()),
    },
    {
      name: "an early retry",
      check: checkSideEffects,
      doctored: withEffect(evidence, "start", `${flaky.id}:1:0:2`, dueAt - 1),
    },
    {
      name: "a start before its cause",
      check: checkSideEffects,
      doctored: withEffect(evidence, "start", `${chain.id}:1:0:1`, chain.createdAt - 1),
    },
    {
      name: "an interruption without a kill",
      check: checkInterruptions,
      doctored: { ...evidence, log: evidence.log.filter(({ what }) => what !== "born") },
    },
    {
      name: "a start while paused",
      check: checkRequests,
      doctored: withEffect(withEffect(evidence, "paused", chain.id, 0), "start", `${chain.id}:1:0:1`, 0),
    },
    {
      name: "an early timeout",
      check: checkDeadlines,
      doctored: movedEnd(evidence, find(evidence, "-timed-instance"), -lateMs),
    },
    {
      name: "a child that is lost",
      check: checkNesting,
      doctored: without(evidence, `${find(evidence, "-nested").id}/nest`),
    },
    { name: "too many at once", check: checkLimit, doctored: movedEnd(evidence, find(evidence, "-limited"), lateMs) },
  ];
}

function find({ instances }: Evidence, ending: string): InstanceEvidence {
  const found = [...instances.values()].filter(({ id }) => id.endsWith(ending)).sort((a, b) => a.key - b.key)[0];
  if (found === undefined) throw new Error(`no instance whose id ends with ${ending}`);
  return found;
}

function without(evidence: Evidence, id: string): Evidence {
  const instances = new Map(evidence.instances);
  if (!instances.delete(id)) throw new Error(`no instance ${id}`);
  return { ...evidence, instances };
}

function withInstance(evidence: Evidence, instance: InstanceEvidence): Evidence {
  return { ...evidence, instances: new Map([...evidence.instances, [instance.id, instance]]) };
}

function withEvent(evidence: Evidence, instance: InstanceEvidence, event: Event): Evidence {
  const turns = instance.turns.map((turn, i) => (i === 1 ? { ...turn, events: [...turn.events, event] } : turn));
  return withInstance(evidence, { ...instance, turns });
}

function movedEnd(evidence: Evidence, instance: InstanceEvidence, byMs: number): Evidence {
  const last = instance.turns.length - 1;
  const turns = instance.turns.map((turn, i) => (i === last ? { ...turn, at: turn.at + byMs } : turn));
  return withInstance(evidence, { ...instance, turns });
}

function withEffect(evidence: Evidence, what: What, id: string, at: number): Evidence {
  const effect: SideEffect = { what, id, at, life: 1 };
  const log = [...evidence.log, effect];
  if (what !== "start") return { ...evidence, log };
  const name = attemptName(id);
  const effects = [...(evidence.jobEffects.get(name.instanceId) ?? []), { ...effect, name }];
  return { ...evidence, log, jobEffects: new Map([...evidence.jobEffects, [name.instanceId, effects]]) };
}

function withoutEffects(evidence: Evidence, id: string): Evidence {
  return { ...evidence, jobEffects: new Map([...evidence.jobEffects, [id, []]]) };
}
