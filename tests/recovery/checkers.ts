import type { Evidence, InstanceEvidence, JobEffect } from "./evidence.ts";
import type { SideEffect } from "./side-effects.ts";
import { traceTasks } from "./task-trace.ts";
import type { AttemptTrace, Trace } from "./task-trace.ts";
import { limitedMax } from "./workload.ts";
import type { Scenario } from "./workload.ts";

/** Each gives back what is wrong, in words; nothing, if all is well. */
export type Checker = (evidence: Evidence, scenarios: readonly Scenario[]) => string[];

/** Everything accepted has ended, as it should, and nothing exists that nobody asked for. */
export const checkEnds: Checker = ({ log, instances }, scenarios) => {
  const accepted = new Set(log.filter(({ what }) => what === "accepted").map(({ id }) => id));
  const known = new Map(scenarios.map((scenario) => [scenario.id, scenario]));
  const wrong: string[] = [];
  for (const { id, status } of scenarios) {
    const instance = instances.get(id);
    if (!accepted.has(id)) wrong.push(`${id} was never accepted`);
    if (instance === undefined) wrong.push(`${id} was accepted and is lost`);
    else if (instance.status !== status)
      wrong.push(`${id} ended in ${instance.status}, not in ${status}: ${instance.reason}`);
    else if (status === "Terminated" && instance.reason !== "no longer wanted")
      wrong.push(`${id} lost the reason of its end`);
  }
  for (const { id, quarantined } of instances.values()) {
    if (!known.has(rootOf(id))) wrong.push(`${id} exists and was never submitted`);
    if (quarantined !== null) wrong.push(`${id} was quarantined: ${quarantined}`);
  }
  return wrong;
};

export const checkLeftOver: Checker = ({ leftOver }) =>
  Object.entries(leftOver)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);

/** Turns and events are numbered without gaps, and time does not run backwards. */
export const checkHistory: Checker = ({ instances }) => {
  const wrong: string[] = [];
  for (const { id, turns } of instances.values()) {
    let events = 0;
    let before = 0;
    for (const [number, turn] of turns.entries()) {
      if (turn.turn !== number) wrong.push(`${id}: turn ${turn.turn} stands where ${number} should`);
      if (turn.firstEvent !== events)
        wrong.push(`${id}: turn ${number} begins with event ${turn.firstEvent}, not ${events}`);
      if (turn.events.length === 0) wrong.push(`${id}: turn ${number} is empty`);
      if (turn.at < before) wrong.push(`${id}: turn ${number} is earlier than the one before it`);
      events += turn.events.length;
      before = turn.at;
    }
    if (turns.length === 0) wrong.push(`${id} has no history`);
  }
  return wrong;
};

/** Attempts are numbered 1, 2, 3 …, in the history and in the list of them, and there are as many as there should be. */
export const checkAttempts: Checker = ({ instances }, scenarios) => {
  const wrong: string[] = [];
  for (const instance of instances.values()) {
    const trace = traceTasks(instance);
    wrong.push(...trace.violations);
    for (const [task, rows] of Map.groupBy(instance.attempts, ({ number }) => number)) {
      const numbers = rows.map(({ attempt }) => attempt).sort((a, b) => a - b);
      const last = trace.tasks.get(task)?.attempt ?? 0;
      if (numbers.some((attempt, i) => attempt !== i + 1) || numbers.length > last) {
        wrong.push(
          `${instance.id}: task ${task} is listed with attempts ${numbers.join(", ")}, and its history has ${last}`,
        );
      }
    }
  }
  for (const { id, attempts } of scenarios) {
    const rows = instances.get(id)?.attempts ?? [];
    for (const [name, count] of Object.entries(attempts)) {
      const made = rows.filter((row) => row.name === name).length;
      if (made !== count) wrong.push(`${id}: task ${name} took ${made} attempts, not ${count}`);
    }
  }
  return wrong;
};

/**
 * What jobs did, beside what the history says: nothing ran before its cause was durable, nothing ran again after its
 * end was recorded, no retry came early, every recorded success really happened, no life ran an attempt twice.
 */
export const checkSideEffects: Checker = ({ instances, jobEffects }) => {
  const wrong: string[] = [];
  for (const id of jobEffects.keys()) if (!instances.has(id)) wrong.push(`${id} ran and is not in the store`);
  for (const instance of instances.values()) {
    const trace = traceTasks(instance);
    const effects = jobEffects.get(instance.id) ?? [];
    for (const effect of effects) wrong.push(...checkEffect(instance, trace, effect));
    for (const [id, starts] of Map.groupBy(
      effects.filter(({ what }) => what === "start"),
      ({ id }) => id,
    )) {
      const lives = new Set(starts.map(({ life }) => life));
      if (lives.size < starts.length) wrong.push(`${id} started twice in one life`);
    }
    wrong.push(...checkSuccesses(instance, trace, effects));
  }
  return wrong;
};

function checkEffect(instance: InstanceEvidence, trace: Trace, { what, id, at, name }: JobEffect): string[] {
  if (what !== "start") return [];
  const task = trace.tasks.get(name.task);
  const attempt = task?.attempts.get(name.attempt);
  if (task === undefined || attempt === undefined) return [`${id} ran, but history does not know of it`];
  const wrong: string[] = [];
  if (at < attempt.scheduledAt) wrong.push(`${id} ran ${attempt.scheduledAt - at} ms before it was scheduled`);
  if (task.succeededAt !== undefined && at > task.succeededAt)
    wrong.push(`${id} ran ${at - task.succeededAt} ms after the task's success was recorded`);
  if (attempt.endedAt !== undefined && at > attempt.endedAt)
    wrong.push(`${id} ran ${at - attempt.endedAt} ms after its end was recorded`);
  if (attempt.dueAt !== undefined && at < attempt.dueAt)
    wrong.push(`${id}, a retry, ran ${attempt.dueAt - at} ms early`);
  const last = trace.stretches.at(-1);
  if (instance.status === "Success" && last !== undefined && at > last.to)
    wrong.push(`${id} ran after the instance had ended`);
  return wrong;
}

function checkSuccesses({ id }: InstanceEvidence, trace: Trace, effects: readonly JobEffect[]): string[] {
  const wrong: string[] = [];
  for (const { task, attempts } of trace.tasks.values()) {
    for (const [number, attempt] of attempts) {
      if (attempt.outcome !== "succeeded" || !attempt.isByWorker) continue;
      const done = effects.filter(({ what, name }) => what === "done" && name.task === task && name.attempt === number);
      if (!done.some(({ at }) => at <= (attempt.endedAt ?? 0))) {
        wrong.push(`${id}: attempt ${number} of task ${task} is recorded as a success that never happened`);
      }
    }
  }
  return wrong;
}

/** An attempt is counted as interrupted at most once per life, in the life after the one it was lost with. */
export const checkInterruptions: Checker = ({ log, instances }) => {
  const births = log.filter(({ what }) => what === "born").map(({ at }) => at);
  const lifeAt = (at: number): number => births.filter((birth) => birth <= at).length;
  const wrong: string[] = [];
  for (const instance of instances.values()) {
    for (const { task, attempts } of traceTasks(instance).tasks.values()) {
      for (const [number, { interruptedAt }] of attempts) {
        const lives = interruptedAt.map(lifeAt);
        const isRight = !lives.includes(0) && !lives.includes(1) && new Set(lives).size === lives.length;
        if (!isRight)
          wrong.push(
            `${instance.id}: attempt ${number} of task ${task} is counted as lost in lives ${lives.join(", ")}`,
          );
      }
    }
  }
  return wrong;
};

/**
 * After an instance was paused none of its tasks starts until it is resumed; after it was terminated, none at all. While
 * it is pausing, tasks that run may finish, but a new life starts none.
 */
export const checkRequests: Checker = ({ log }) => {
  const still = new Map<string, SideEffect>();
  const wrong: string[] = [];
  for (const effect of log) {
    const { what, id, life } = effect;
    if (what === "pausing" || what === "paused" || what === "terminated") still.set(id, effect);
    else if (what === "resuming") still.delete(id);
    else if (what === "start") {
      const request = still.get(id.split(":")[0] ?? "");
      if (request === undefined || (request.what === "pausing" && request.life === life)) continue;
      wrong.push(`${id} started although its instance was ${request.what}`);
    }
  }
  return wrong;
};

/** Instance timeouts: not early; and nothing that has one ends in any other way after it. */
export const checkDeadlines: Checker = ({ instances }) => {
  const wrong: string[] = [];
  for (const instance of instances.values()) {
    const { deadlines, stretches } = traceTasks(instance);
    const [deadline, end] = [deadlines.at(-1), stretches.at(-1)?.to];
    if (deadline === undefined || end === undefined) continue;
    const isTimedOut = instance.reason?.includes("did not end within its timeout") ?? false;
    if (isTimedOut && end < deadline) wrong.push(`${instance.id} timed out ${deadline - end} ms early`);
    if (!isTimedOut && end > deadline) wrong.push(`${instance.id} ended ${end - deadline} ms after its deadline`);
  }
  return wrong;
};

/** Parents and children tell the same story. */
export const checkNesting: Checker = ({ instances }) => {
  const wrong: string[] = [];
  for (const parent of instances.values()) {
    const trace = traceTasks(parent);
    for (const [task, childId] of trace.children) {
      const child = instances.get(childId);
      const attempts = trace.tasks.get(task)?.attempts ?? new Map<number, AttemptTrace>();
      const outcome = [...attempts.values()].at(-1)?.outcome;
      if (child === undefined) wrong.push(`${parent.id} started ${childId}, which is lost`);
      else if ((child.status === "Success") !== (outcome === "succeeded")) {
        wrong.push(`${childId} ended in ${child.status}, and for its parent it ${outcome}`);
      } else if (parent.status === "Terminated" && child.status !== "Terminated") {
        wrong.push(`${childId} ended in ${child.status} although its parent was terminated`);
      }
    }
  }
  for (const { id } of instances.values()) {
    if (id.includes("/") && !instances.has(id.slice(0, id.lastIndexOf("/")))) wrong.push(`${id} has no parent`);
  }
  return wrong;
};

/** No more instances of the limited workflow ran at once than may. */
export const checkLimit: Checker = ({ instances }) => {
  const steps: { at: number; change: number }[] = [];
  for (const instance of instances.values()) {
    if (instance.workflow !== "limited") continue;
    for (const { from, to } of traceTasks(instance).stretches)
      steps.push({ at: from, change: 1 }, { at: to, change: -1 });
  }
  steps.sort((a, b) => a.at - b.at || a.change - b.change);
  let running = 0;
  const wrong: string[] = [];
  for (const { at, change } of steps) {
    running += change;
    if (running > limitedMax) wrong.push(`${running} instances of the limited workflow ran at ${at}`);
  }
  return wrong;
};

export const checkers: Readonly<Record<string, Checker>> = {
  "every accepted instance ended, and ended rightly": checkEnds,
  "nothing is left over": checkLeftOver,
  "histories have no gap": checkHistory,
  "attempts are numbered rightly": checkAttempts,
  "no job ran that should not have, none early, none again after its end": checkSideEffects,
  "interruptions are counted at most once per life": checkInterruptions,
  "a paused or terminated instance starts nothing": checkRequests,
  "instance timeouts are kept": checkDeadlines,
  "parents and children agree": checkNesting,
  "the maximum of concurrent instances holds": checkLimit,
};

function rootOf(id: string): string {
  return id.split("/")[0] ?? id;
}
