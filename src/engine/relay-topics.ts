import { namespaceOf, qualify } from "../base/namespace.ts";
import type { CommittedTurn } from "../runtime/message.ts";

/** A topic that somebody follows in a namespace: one instance, the instances of a workflow, all, or the remote workers. */
export type RelayTopic =
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
  /** Namespaces whose followers want the events themselves; to all others the types of events are sent. */
  readonly withEvents: readonly string[];
}

/** Recognises the turns and the changes of workers that somebody follows. */
export class TopicFilter {
  readonly #namespaces: ReadonlySet<string>;
  readonly #workflows: ReadonlySet<string>;
  readonly #instances: ReadonlySet<string>;
  readonly #workers: ReadonlySet<string>;
  readonly #withEvents: ReadonlySet<string>;

  constructor(topics: RelayTopics) {
    this.#namespaces = new Set(topics.namespaces);
    this.#workflows = new Set(topics.workflows);
    this.#instances = new Set(topics.instances);
    this.#workers = new Set(topics.workers);
    this.#withEvents = new Set(topics.withEvents);
  }

  wants({ instanceId, workflow }: Pick<CommittedTurn, "instanceId" | "workflow">): boolean {
    if (this.#instances.has(instanceId) || this.#workflows.has(workflow)) return true;
    return this.#namespaces.size > 0 && this.#namespaces.has(namespaceOf(instanceId));
  }

  wantsWorkers(namespace: string): boolean {
    return this.#workers.has(namespace);
  }

  wantsEvents(instanceId: string): boolean {
    return this.#withEvents.size > 0 && this.#withEvents.has(namespaceOf(instanceId));
  }
}

export function topicKey(namespace: string, topic: RelayTopic): string {
  if ("instanceId" in topic) return `instance:${qualify(namespace, topic.instanceId)}`;
  if ("workers" in topic) return `worker:${namespace}`;
  return "workflow" in topic ? `workflow:${qualify(namespace, topic.workflow)}` : `namespace:${namespace}`;
}

/** Puts the keys of several subscribers together. */
export function topicsOf(keys: Iterable<string>, withEvents: Iterable<string>): RelayTopics {
  const found = {
    namespace: new Set<string>(),
    workflow: new Set<string>(),
    instance: new Set<string>(),
    worker: new Set<string>(),
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
    withEvents: [...new Set(withEvents)],
  };
}
