import type { Event } from "../../../src/kernel/event.ts";
import { hasEnded } from "../../../src/kernel/status.ts";
import type { Evidence, FinalInstance } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { birthOf, type InstanceCommits, commitHistoryOf, eventsOf } from "./commit-history.ts";

/** I8: the histories of parents and children agree. */
export const checkChildren: Checker = (evidence) => {
  const byId = newestById(evidence);
  const { instances } = commitHistoryOf(evidence);
  /** Whether an id that the parent did not derive from its own was taken by another instance. */
  const isOther = (child: FinalInstance, parent: FinalInstance): boolean => {
    const commitHistory = instances.get(child.key);
    return commitHistory !== undefined && birthOf(commitHistory)?.parent?.key !== parent.key;
  };
  const wrong: string[] = [];
  for (const parent of byId.values()) {
    for (const { childId, outcome } of childrenOf(evidence, parent)) {
      const child = byId.get(childId);
      if (child === undefined) wrong.push(`${parent.id} started ${childId}, which is lost`);
      else if (isOther(child, parent) && outcome === "failed") continue;
      else if (
        hasEnded(child.status) &&
        outcome !== "open" &&
        (child.status === "Success") !== (outcome === "succeeded")
      )
        wrong.push(`${childId} ended in ${child.status}, and for its parent it ${outcome}`);
      else if (hasEnded(parent.status) && !hasEnded(child.status))
        wrong.push(`${childId} is ${child.status} although its parent has ended`);
    }
  }
  return [...wrong, ...checkParents(evidence, byId), ...checkHeirs(evidence)];
};

/**
 * Children that outlive their parent end as their id says: those with `leave` by themselves, the others because they
 * are ended. A cancel by a client also reaches the children that the code waits for, whatever their `whenParentEnds`. An
 * instance whose id the code took for a child's (`taken`) is no child: nothing ends it.
 */
function checkHeirs(evidence: Evidence): string[] {
  return evidence.finalState.instances.flatMap(({ id, status }) => {
    const [, parent = "", by, policy] =
      /^(.*)\/\d+\.\d+:(startChild|callChild|taken):(terminate|cancel|leave)$/.exec(id) ?? [];
    if (policy === undefined || !hasEnded(status)) return [];
    const expected = policy === "leave" ? "Success" : "Terminated";
    const mayBeCanceled = by === "callChild" && wasCanceled(evidence, parent);
    return status === expected || mayBeCanceled ? [] : [`${id} ended in ${status}, not in ${expected}`];
  });
}

function wasCanceled(evidence: Evidence, id: string): boolean {
  const lives = commitHistoryOf(evidence).livesOf(id);
  return lives.flatMap(eventsOf).some(({ event }) => event.type === "CancelRequested" && !isTimeout(event));
}

function isTimeout({ reason }: Extract<Event, { type: "CancelRequested" }>): boolean {
  return reason.includes("did not end within its timeout");
}

function newestById({ finalState }: Evidence): Map<string, FinalInstance> {
  const newest = new Map<string, FinalInstance>();
  for (const instance of [...finalState.instances].sort((a, b) => a.key - b.key)) newest.set(instance.id, instance);
  return newest;
}

/** The child of each nested task, and how that task ended after it was last started. */
function childrenOf(evidence: Evidence, parent: FinalInstance): { childId: string; outcome: string }[] {
  const commitHistory = commitHistoryOf(evidence).instances.get(parent.key);
  if (commitHistory === undefined) return [];
  const children = new Map<number, { childId: string; outcome: string }>();
  for (const { event } of eventsOf(commitHistory)) {
    // Children of an earlier generation were ended with it.
    if (event.type === "InstanceContinued") children.clear();
    if (event.type === "ChildStarted") children.set(event.task, { childId: event.childId, outcome: "open" });
    if (event.type !== "TaskSucceeded" && event.type !== "TaskFailed") continue;
    const child = children.get(event.task);
    if (child !== undefined) child.outcome = event.type === "TaskSucceeded" ? "succeeded" : "failed";
  }
  return [...children.values()];
}

/** Every child was started by its parent, once for each incarnation of the parent. */
function checkParents(evidence: Evidence, byId: ReadonlyMap<string, FinalInstance>): string[] {
  const wrong: string[] = [];
  for (const instance of commitHistoryOf(evidence).instances.values()) {
    const parentId = parentOf(instance);
    if (parentId === undefined) continue;
    const parent = byId.get(parentId);
    const lives = commitHistoryOf(evidence).livesOf(parentId);
    if (parent === undefined && lives.length === 0) wrong.push(`${instance.id} has no parent`);
    const starts = lives.flatMap(eventsOf).filter(({ event }) => startsChild(event, instance.id));
    const own = instance.turns[0]?.landed;
    if (own !== undefined && !starts.some(({ landed }) => landed.order < own.order))
      wrong.push(`${instance.id} was there before its parent had started it`);
  }
  return wrong;
}

/** Children that were started in the turn in which the parent continued as new are recorded with its next generation. */
function startsChild(event: Event, id: string): boolean {
  if (event.type === "InstanceContinued") return event.children?.some(({ childId }) => childId === id) ?? false;
  return (event.type === "ChildStarted" || event.type === "ChildDetached") && event.childId === id;
}

function parentOf(instance: InstanceCommits): string | undefined {
  return birthOf(instance)?.parent?.id;
}
