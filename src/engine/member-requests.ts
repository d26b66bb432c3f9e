import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import { preview } from "../base/preview.ts";
import type { Dispatcher, DomainOverview } from "../dispatch/dispatcher.ts";
import type { WorkerSelector } from "../dispatch/worker-selector.ts";
import type { Region } from "../runtime/region.ts";
import type { Namespaces } from "./namespaces.ts";
import { domainViews, type QueuedTask, type StuckInstance, type WorkerView, workerViews } from "./overview.ts";
import type { FollowAnswer, FollowRequest, RelaySource } from "./relay-source.ts";
import { countQueue, type QueueCounts, type QueuePageRequest, queuePage } from "./queue.ts";

interface InNamespace {
  readonly namespace: string;
}

/**
 * The questions that members ask each other, with their arguments and answers, all JSON. Each member answers for its own
 * process, from memory. A question may come twice, and late.
 */
export interface MemberRequests {
  readonly ListQueue: { readonly args: QueuePageRequest; readonly result: readonly QueuedTask[] };
  readonly CountQueue: { readonly args: InNamespace; readonly result: QueueCounts };
  readonly ListWorkers: { readonly args: InNamespace; readonly result: readonly WorkerView[] };
  /** Names workers that would run such an attempt: ids of remote workers, addresses of pools. */
  readonly FindWorkers: { readonly args: { readonly selector: WorkerSelector }; readonly result: readonly string[] };
  readonly ListDomains: { readonly args: InNamespace; readonly result: readonly DomainOverview[] };
  readonly ListStuck: {
    readonly args: InNamespace & { readonly forMs: number };
    readonly result: readonly StuckInstance[];
  };
  /** Fetches changes that clients of the asking member follow. Answered when there are some, or after two seconds. */
  readonly FollowChanges: { readonly args: FollowRequest; readonly result: FollowAnswer };
  /** Makes the member, or a worker that is connected to it, take no new tasks. Answered when the drain has begun. */
  readonly Drain: { readonly args: InNamespace & { readonly address: string }; readonly result: void };
}

export type MemberRequestType = keyof MemberRequests;
export type MemberRequestOf<T extends MemberRequestType> = { readonly type: T } & MemberRequests[T]["args"];
export type AnswerOf<T extends MemberRequestType> = MemberRequests[T]["result"];

/** The parts of a process from which it answers. */
export interface MemberRequestParts {
  readonly dispatcher: Dispatcher;
  readonly region: Region;
  readonly namespaces: Namespaces;
  readonly options: {
    readonly runsJobs: boolean;
    readonly workerTags: readonly string[];
    readonly clock: { now(): number };
  };
  readonly address: string;
  readonly member: { announceChange(): void } | undefined;
  readonly relay: { readonly source: Pick<RelaySource, "follow"> } | undefined;
}

type Answer<T extends MemberRequestType> = (
  request: MemberRequestOf<T>,
  parts: MemberRequestParts,
) => AnswerOf<T> | Promise<AnswerOf<T>>;

const requestTable: { readonly [T in MemberRequestType]: Answer<T> } = {
  ListQueue: (request, parts) => queuePage(parts, request),
  CountQueue: ({ namespace }, parts) => countQueue(parts, namespace),
  ListWorkers: ({ namespace }, parts) => ownWorkers(parts, namespace),
  FindWorkers: ({ selector }, { dispatcher }) => dispatcher.status.listEligible(selector),
  ListDomains: ({ namespace }, { dispatcher }) => domainViews(dispatcher, namespace),
  ListStuck: ({ namespace, forMs }, parts) => ownStuck(parts, { namespace, forMs }),
  FollowChanges: (request, { relay }) => relay?.source.follow(request) ?? { changes: [], last: request.after },
  Drain: (request, parts) => beginDrain(request, parts),
};

/** Answers a request for this process. */
export async function answerOwn<T extends MemberRequestType>(
  request: MemberRequestOf<T>,
  parts: MemberRequestParts,
): Promise<AnswerOf<T>> {
  return await requestTable[request.type](request, parts);
}

/** Answers another member. Throws a plain error for a request that this member does not know: a newer version may have sent it. */
export async function answerMember(body: unknown, parts: MemberRequestParts): Promise<unknown> {
  if (isRequest(body)) return await answerOwn(body, parts);
  throw new Error(`not a request that this member knows: ${preview(body)}`);
}

function isRequest(body: unknown): body is MemberRequestOf<MemberRequestType> {
  const type = typeof body === "object" && body !== null && "type" in body ? body.type : undefined;
  return typeof type === "string" && Object.hasOwn(requestTable, type);
}

/** Lists the pool of this process and the remote workers of the namespace that are connected to it. */
export function ownWorkers(parts: MemberRequestParts, namespace: string): WorkerView[] {
  const { dispatcher, options, address, namespaces } = parts;
  return workerViews({ dispatcher, options, address, namespace, registry: namespaces.view(namespace).registry });
}

export function ownStuck(
  { region, options }: Pick<MemberRequestParts, "region" | "options">,
  { namespace, forMs }: { readonly namespace: string; readonly forMs: number },
): StuckInstance[] {
  return region.listStuck(namespace, options.clock.now() - forMs).map(({ id, workflow, lastTurnAt }) => {
    return { instanceId: localName(id), workflowName: localName(workflow), updatedAt: lastTurnAt };
  });
}

/** `WORKER_UNKNOWN`. */
function beginDrain({ namespace, address }: MemberRequestOf<"Drain">, parts: MemberRequestParts): void {
  const { dispatcher, member } = parts;
  if (address === parts.address) {
    void dispatcher.drain();
    member?.announceChange();
    return;
  }
  const isOwn = ownWorkers(parts, namespace).some((worker) => worker.isRemote && worker.address === address);
  if (!isOwn) throw unknownWorker(address);
  void dispatcher.drainWorker(address);
}

export function unknownWorker(address: string): EngineError {
  return new EngineError("WORKER_UNKNOWN", `no worker ${preview(address)} is connected to the cluster`);
}
