import { defaultDomain } from "./domain-pools.ts";
import type { AttemptIdentity } from "./task-run.ts";
import type { WorkerSelector } from "./worker-selector.ts";
import { defaultNamespace, localName, namespaceOf } from "../base/namespace.ts";
/**
 * The reason why a task waits, as a code for programs; `text` is for people.
 *
 * `workflow-limit`: the maximum of instances of its workflow run. `instance-limit`: the maximum of tasks of its instance
 * run. `paused`: its instance is paused. `retry`: its next attempt is not due. `no-worker`: no worker has its job and its
 * tags, or the designated one is not connected. `domain`: its domain is full, or has no slots. `slot`: the pool is full, or
 * all workers that may run it are. `outside`: it is completed from outside. `isolation`: tasks that were lost with their process run alone. `engine`: the process
 * starts nothing at present.
 */
export type WaitReason =
  | "workflow-limit"
  | "instance-limit"
  | "paused"
  | "retry"
  | "no-worker"
  | "domain"
  | "slot"
  | "outside"
  | "isolation"
  | "engine";

/** Why a task whose dependencies have ended does not run yet. */
export interface TaskWait {
  readonly reason: WaitReason;
  /** Completes the phrase "waits for". */
  readonly text: string;
  /** The domain whose slots are taken. In a cluster, what runs and waits is that of one member. */
  readonly slots?: DomainSlots | undefined;
  /** The maximum that is reached: tasks of the instance, or instances of the workflow. */
  readonly max?: number | undefined;
  /** The time in epoch milliseconds at which it waits no longer, of a completion from outside. */
  readonly dueAt?: number | undefined;
  /** What its worker must have beside the job, if the task says so: tags, all of them, or a name. */
  readonly requires?: RequiredWorker | undefined;
}

/** The worker that a task requires. */
export interface RequiredWorker {
  readonly tags: readonly string[];
  /** The designated worker. */
  readonly worker?: string | undefined;
}

/** The domain that a task waits for. */
export interface DomainSlots {
  readonly domain: string;
  readonly size: number;
  readonly running: number;
  readonly waiting: number;
}

/** The waits of attempts in the dispatcher. */
export const waits = {
  noWorker: (job: string): TaskWait => {
    return { reason: "no-worker", text: `job ${localName(job)}, which is not registered on any worker` };
  },
  /** Workers have the job, but none has the tags, or the designated one is not connected. */
  noEligibleWorker: (selector: WorkerSelector): TaskWait => {
    const text = `${workerWords(selector)}, and no such worker is connected`;
    return { reason: "no-worker", text, requires: requiredOf(selector) };
  },
  noDomain: (domain: string): TaskWait => ({
    reason: "domain",
    text: `domain ${localName(domain)}, which is not declared`,
  }),
  noSlots: (domain: DomainSlots): TaskWait => {
    const text = `a slot in domain ${localName(domain.domain)}, which has no slots: the other domains take the whole pool`;
    return { reason: "domain", text, slots: slotsOf(domain) };
  },
  engine: (text: string): TaskWait => ({ reason: "engine", text }),
  freeWorker: (selector: WorkerSelector): TaskWait => ({
    reason: "slot",
    text: `a free slot on ${workerWords(selector)}`,
    requires: requiredOf(selector),
  }),
  placing: { reason: "slot", text: "the record of its start on another member" } satisfies TaskWait,
  /** Attempts that were lost with their process run one after the other. */
  suspect: (taskName: string, losses: number): TaskWait => {
    return { reason: "isolation", text: `${taskName}, because both were lost, this one ${losses} times` };
  },
  isolation: {
    reason: "isolation",
    text: "tasks that were lost with their process, which run alone for a moment",
  } satisfies TaskWait,
  freeSlot: (reason: "slot" | "domain", domain: DomainSlots): TaskWait => {
    return { reason, text: `a free slot in domain ${localName(domain.domain)}`, slots: slotsOf(domain) };
  },
} as const;

function workerWords({ job, placement }: WorkerSelector): string {
  const { tags = [], worker } = placement ?? {};
  const required = tags.length === 0 ? "" : ` and ${tags.length === 1 ? "tag" : "tags"} ${tags.join(", ")}`;
  return `${worker === undefined ? "a worker that has" : `worker ${worker} with`} job ${localName(job)}${required}`;
}

function requiredOf({ placement }: WorkerSelector): RequiredWorker {
  const { tags = [], worker } = placement ?? {};
  return worker === undefined ? { tags } : { tags, worker };
}

function slotsOf({ domain, size, running, waiting }: DomainSlots): DomainSlots {
  return { domain: localName(domain), size, running, waiting };
}

/** True for a task outside `default` in the domain that all namespaces share: its counts are not for the task's users. */
export function countsOthers({
  instanceId,
  domain,
}: Pick<AttemptIdentity, "instanceId" | "domain" | "taskName">): boolean {
  return domain === defaultDomain && namespaceOf(instanceId) !== defaultNamespace;
}

/** Tasks of another namespace are not named. */
export function suspectFor(
  { instanceId }: Pick<AttemptIdentity, "instanceId" | "domain" | "taskName">,
  suspect: Pick<AttemptIdentity, "instanceId" | "domain" | "taskName">,
): string {
  return namespaceOf(instanceId) === namespaceOf(suspect.instanceId) ? suspect.taskName : "another task";
}
