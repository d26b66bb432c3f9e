import { messageOf } from "../base/error.ts";
import { qualify } from "../base/namespace.ts";
import type { Logger } from "../base/logger.ts";
import type { DomainOverview } from "../dispatch/dispatcher.ts";
import type { WorkerSelector } from "../dispatch/worker-selector.ts";
import type { ClusterMember } from "../member/cluster-member.ts";
import { comparePlaces, placeOf, type QueuePlace } from "../runtime/queue-place.ts";
import { checkListener, checkQueueFilter } from "./argument-check.ts";
import type { EngineState } from "./engine-state.ts";
import {
  type AnswerOf,
  answerOwn,
  type MemberRequestOf,
  type MemberRequestParts,
  type MemberRequestType,
  unknownWorker,
} from "./member-requests.ts";
import type { Relay } from "./relay.ts";
import type { RelayListener, RelaySubscription } from "./relay-follower.ts";
import type { QueuedTask, StuckInstance, WorkerView } from "./overview.ts";
import type { Subscription } from "./subscriptions.ts";
import type { WorkerListeners } from "./worker-listeners.ts";
import type { WorkerEvent } from "../dispatch/worker-event.ts";
import { addCounts, type QueueCounts } from "./queue.ts";

/** A member that has not answered by then is named in the answer instead. Without a bus, both ways are polls of half a second. */
const answerMsMax = 3000;

/** Members that did not answer in time, or are suspected: what they run and hold is missing in the answer. */
export interface Answered {
  readonly unanswered: readonly string[];
}

/** A page of the tasks that run or wait on all members. */
export interface ClusterQueue extends Answered {
  /** By instance, then by the number of the task. */
  readonly tasks: readonly QueuedTask[];
  /** The place after which the next page begins; undefined on the last one. */
  readonly next: QueuePlace | undefined;
}

/** Which tasks of the queues are listed. */
export interface ClusterQueueFilter {
  readonly state: QueuedTask["state"];
  /** Default 1000. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: QueuePlace | undefined;
}

export interface ClusterOverviewParts extends Omit<MemberRequestParts, "member" | "relay"> {
  readonly relay: Relay | undefined;
  readonly workerEvents: WorkerListeners;
  readonly state: EngineState;
  readonly member: ClusterMember | undefined;
  readonly options: MemberRequestParts["options"] & { readonly stuckMs: number; readonly logger: Logger };
}

/** The whole cluster, whichever member is asked. One engine alone is a cluster of one. */
export class ClusterOverview {
  readonly #parts: ClusterOverviewParts;
  readonly #namespace: string;

  /** Made by `EngineNamespace`. */
  constructor(parts: ClusterOverviewParts, namespace: string) {
    this.#parts = parts;
    this.#namespace = namespace;
  }

  /** Lists tasks that run, or wait for anything but their predecessors. `OPTION_INVALID`. */
  async listQueuedTasks({ state, limit = 1000, after }: ClusterQueueFilter): Promise<ClusterQueue> {
    checkQueueFilter({ state, limit });
    // One more than the page shows whether there is another.
    const request = { type: "ListQueue", ...this.#here, state, limit: limit + 1, after } as const;
    const { answers, unanswered } = await this.#askAll(request);
    const tasks = withoutRepeats(answers.flatMap(({ answer }) => answer));
    const page = tasks.slice(0, limit);
    const last = page.at(-1);
    return { tasks: page, next: tasks.length > limit && last !== undefined ? placeOf(last) : undefined, unanswered };
  }

  /** Counts tasks that run and wait by workflow, job, worker and reason. */
  async countQueuedTasks(): Promise<QueueCounts & Answered> {
    const { answers, unanswered } = await this.#askAll({ type: "CountQueue", ...this.#here });
    return { ...addCounts(answers.map(({ answer }) => answer)), unanswered };
  }

  /** Lists the pool of every member and the remote workers of the namespace, each with the member that it is connected to. */
  async listWorkers(): Promise<Answered & { readonly workers: readonly (WorkerView & { readonly member: string })[] }> {
    const { answers, unanswered } = await this.#askAll({ type: "ListWorkers", ...this.#here });
    const workers = answers.flatMap(({ member, answer }) => answer.map((worker) => ({ ...worker, member })));
    return { workers: workers.sort((a, b) => (a.address < b.address ? -1 : 1)), unanswered };
  }

  /** Names the workers of all members that would run such an attempt, whose job is qualified. */
  async findWorkers(selector: WorkerSelector): Promise<Answered & { readonly workers: readonly string[] }> {
    const { answers, unanswered } = await this.#askAll({ type: "FindWorkers", selector });
    const names = new Set(answers.flatMap(({ answer }) => answer));
    return { workers: [...names].sort(), unanswered };
  }

  /** Lists the domains of the namespace, and `default`, with what runs and waits on all members, the highest priority first. */
  async listDomains(): Promise<Answered & { readonly domains: readonly DomainOverview[] }> {
    const { answers, unanswered } = await this.#askAll({ type: "ListDomains", ...this.#here });
    const [own, ...others] = answers.map(({ answer }) => answer);
    const domains = (own ?? []).map((domain) => {
      const same = [domain, ...others.flatMap((each) => each.filter((other) => other.domain === domain.domain))];
      const total = (field: "running" | "waiting"): number => same.reduce((sum, each) => sum + each[field], 0);
      return { ...domain, running: total("running"), waiting: total("waiting") };
    });
    return { domains, unanswered };
  }

  /**
   * Lists instances that have something under way and have made no progress for that long, by default the option
   * `stuckMs`.
   */
  async listStuckInstances({ forMs = this.#parts.options.stuckMs }: { readonly forMs?: number } = {}): Promise<
    Answered & { readonly instances: readonly StuckInstance[] }
  > {
    const { answers, unanswered } = await this.#askAll({ type: "ListStuck", ...this.#here, forMs });
    const instances = answers.flatMap(({ answer }) => answer);
    return { instances: instances.sort((a, b) => a.updatedAt - b.updatedAt), unanswered };
  }

  /**
   * Makes a member, or a remote worker of the namespace, take no new tasks; resolves when that has begun.
   * `WORKER_UNKNOWN`, `CALL_UNANSWERED`.
   */
  async drain(address: string): Promise<void> {
    const { state, member } = this.#parts;
    state.refuseUnlessUp();
    const request = { type: "Drain", ...this.#here, address } as const;
    const isOf = (id: string): boolean => address === id || address.startsWith(`${id}/`);
    const host = member?.members().find(({ id }) => isOf(id));
    if (host === undefined && member !== undefined) throw unknownWorker(address);
    if (member === undefined || host === undefined || host.isSelf) await answerOwn<"Drain">(request, this.#parts);
    else await member.ask(host.id, request, { timeoutMs: answerMsMax });
  }

  /** Follows changes that other members commit. Undefined for an engine alone. */
  follow(listener: Omit<RelayListener, "namespace">): RelaySubscription | undefined {
    return this.#parts.relay?.follower.subscribe({ ...listener, namespace: this.#namespace });
  }

  /** Tells other members, whose clients follow the task log of the instance, that lines were written to it. */
  tellLogLines(instanceId: string): void {
    this.#parts.relay?.source.onLogLines(qualify(this.#namespace, instanceId));
  }

  /**
   * Calls the listener when a remote worker of the namespace connects to a member, is drained, leaves or is lost, whichever
   * member that is. `onGap` is called when events of other members may be missing: a member was lost, or heard of the
   * subscription late; `listWorkers` has the workers then. The returned function unsubscribes. `OPTION_INVALID`.
   */
  onWorkerEvent(listener: (event: WorkerEvent) => void, { onGap }: { readonly onGap?: () => void } = {}): Subscription {
    checkListener("onWorkerEvent", listener);
    const unlisten = this.#parts.workerEvents.add((event, namespace) => {
      if (namespace === this.#namespace) listener(event);
    });
    const relay = this.follow({
      withEvents: false,
      onChange: () => undefined,
      onWorkerEvent: listener,
      onGap: () => onGap?.(),
    });
    const stop = (): void => {
      unlisten();
      relay?.stop();
    };
    return Object.assign(stop, { ready: relay?.add({ workers: true }) ?? Promise.resolve() });
  }

  get #here(): { readonly namespace: string } {
    return { namespace: this.#namespace };
  }

  async #askAll<T extends MemberRequestType>(
    request: MemberRequestOf<T>,
  ): Promise<Answered & { readonly answers: readonly { readonly member: string; readonly answer: AnswerOf<T> }[] }> {
    const { state, member, address } = this.#parts;
    state.refuseUnlessUp();
    const unanswered: string[] = [];
    const others = (member?.members() ?? []).filter(({ isSelf }) => !isSelf);
    const asked = others.map(async ({ id, isSuspected }) => {
      const answer = isSuspected ? undefined : await this.#ask(id, request);
      if (answer !== undefined) return [{ member: id, answer }];
      unanswered.push(id);
      return [];
    });
    const own = { member: address, answer: await answerOwn(request, this.#parts) };
    const answers = [own, ...(await Promise.all(asked)).flat()];
    // A member that has left meanwhile has handed over what it had.
    const present = new Set(member?.members().map(({ id }) => id));
    return { answers, unanswered: unanswered.filter((id) => present.has(id)).sort() };
  }

  /** Undefined if the member does not answer. */
  async #ask<T extends MemberRequestType>(
    member: string,
    request: MemberRequestOf<T>,
  ): Promise<AnswerOf<T> | undefined> {
    try {
      return (await this.#parts.member?.ask(member, request, { timeoutMs: answerMsMax })) as AnswerOf<T>;
    } catch (error) {
      this.#parts.options.logger.debug(
        { member, request: request.type, error: messageOf(error) },
        "a member did not answer; the answer about the cluster names it",
      );
      return undefined;
    }
  }
}

/** A task whose shard moves may be listed by two members; those of one place come in order. */
function withoutRepeats(tasks: QueuedTask[]): QueuedTask[] {
  tasks.sort((a, b) => comparePlaces(placeOf(a), placeOf(b)) || b.attempt - a.attempt);
  return tasks.filter((task, at) => {
    const before = tasks[at - 1];
    return before === undefined || comparePlaces(placeOf(before), placeOf(task)) !== 0;
  });
}
