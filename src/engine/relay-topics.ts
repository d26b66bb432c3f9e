import { namespaceOf, qualify } from "../base/namespace.ts";
import type { CommittedTurn } from "../runtime/message.ts";

/**
 * A topic that somebody follows in a namespace: one instance, the instances of a workflow, all, the remote workers, or the
 * task logs of an instance.
 */
export type RelayTopic =
  | { readonly logsOf: string }
  | { readonly instanceId: string }
  | { readonly workflow: string }
  | { readonly all: true }
  | { readonly workers: true };

/** The topics that the clients of one member follow, as it tells them to another. Names and ids are qualified. */
export interface RelayTopics {
  /** Namespaces of which everything is followed. */
  readonly namespaces: readonly string[];
  readonly workflows: readonly string[];
  readonly instances: readonly string[];
  /** Namespaces whose remote workers are followed; absent in the request of an earlier version. */
  readonly workers?: readonly string[];
  /** Instances whose task logs are followed; absent in the request of an earlier version. */
  readonly logs?: readonly string[];
  /** Namespaces whose followers want the events themselves; to all others the types of events are sent. */
  readonly withEvents: readonly string[];
  /** Namespaces whose followers want the progress of followed instances, too; absent in the request of an earlier version. */
  readonly withProgress?: readonly string[];
}

/** What the followers of a namespace want beyond the status changes of the topics. */
export interface RelayWants {
  readonly withEvents: Iterable<string>;
  readonly withProgress: Iterable<string>;
}

/** Recognises what somebody follows: turns, changes of workers, progress, and lines of task logs. */
export class TopicFilter {
  readonly #namespaces: ReadonlySet<string>;
  readonly #workflows: ReadonlySet<string>;
  readonly #instances: ReadonlySet<string>;
  readonly #workers: ReadonlySet<string>;
  readonly #logs: ReadonlySet<string>;
  readonly #withEvents: ReadonlySet<string>;
  readonly #withProgress: ReadonlySet<string>;

  constructor(topics: RelayTopics) {
    this.#namespaces = new Set(topics.namespaces);
    this.#workflows = new Set(topics.workflows);
    this.#instances = new Set(topics.instances);
    this.#workers = new Set(topics.workers);
    this.#logs = new Set(topics.logs);
    this.#withEvents = new Set(topics.withEvents);
    this.#withProgress = new Set(topics.withProgress);
  }

  wants({ instanceId, workflow }: Pick<CommittedTurn, "instanceId" | "workflow">): boolean {
    if (this.#instances.has(instanceId) || this.#workflows.has(workflow)) return true;
    return this.#namespaces.size > 0 && this.#namespaces.has(namespaceOf(instanceId));
  }

  wantsWorkers(namespace: string): boolean {
    return this.#workers.has(namespace);
  }

  wantsLogsOf(instanceId: string): boolean {
    return this.#logs.has(instanceId);
  }

  wantsProgressOf(instanceId: string): boolean {
    return this.#instances.has(instanceId) && this.#withProgress.has(namespaceOf(instanceId));
  }

  wantsEvents(instanceId: string): boolean {
    return this.#withEvents.size > 0 && this.#withEvents.has(namespaceOf(instanceId));
  }
}

export function topicKey(namespace: string, topic: RelayTopic): string {
  if ("instanceId" in topic) return `instance:${qualify(namespace, topic.instanceId)}`;
  if ("logsOf" in topic) return `log:${qualify(namespace, topic.logsOf)}`;
  if ("workers" in topic) return `worker:${namespace}`;
  return "workflow" in topic ? `workflow:${qualify(namespace, topic.workflow)}` : `namespace:${namespace}`;
}

const wantsNothing: RelayWants = { withEvents: [], withProgress: [] };

/** Puts the keys of several subscribers together. */
export function topicsOf(keys: Iterable<string>, { withEvents, withProgress }: RelayWants = wantsNothing): RelayTopics {
  const found = {
    namespace: new Set<string>(),
    workflow: new Set<string>(),
    instance: new Set<string>(),
    worker: new Set<string>(),
    log: new Set<string>(),
  };
  for (const key of keys) {
    const end = key.indexOf(":");
    found[key.slice(0, end) as keyof typeof found].add(key.slice(end + 1));
  }
  return {
    namespaces: [...found.namespace],
    workflows: [...found.workflow],
    instances: [...found.instance],
    workers: [...found.worker],
    logs: [...found.log],
    withEvents: [...new Set(withEvents)],
    withProgress: [...new Set(withProgress)],
  };
}
