import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { namespaceOf, qualify } from "../base/namespace.ts";
import type { Definitions } from "../runtime/definitions.ts";
import type { Region } from "../runtime/region.ts";
import type { Store } from "../stores/store.ts";
import { ClusterSubscription, type ClusterSubscriptionParts } from "./cluster-subscription.ts";
import type { EngineState } from "./engine-state.ts";
import type { InstanceCalls } from "./instance-calls.ts";
import type { InstanceChange } from "./instance-change.ts";
import { listInstances } from "./list-instances.ts";
import { LiveInstance } from "./live-instance.ts";
import type { Relay } from "./relay.ts";
import { subscribeTo } from "./subscribe-to.ts";

/** Which changes a subscription hears. */
export interface SubscribeOptions {
  /** By default all instances of the namespace. */
  readonly instanceId?: string;
  /** `process` leaves out what other members of the cluster commit. Default `cluster`. */
  readonly scope?: "cluster" | "process";
}

/** Ends the subscription when it is called. */
export interface Subscription {
  (): void;
  /**
   * Resolves when every living member sends its changes, or after two seconds; at once for an engine alone. While the store
   * does not answer, the subscription of one instance of a cluster is not ready.
   */
  readonly ready: Promise<void>;
}

export interface SubscriptionsParts {
  readonly region: Region;
  readonly relay: Relay | undefined;
  readonly state: EngineState;
  readonly definitions: Definitions;
  readonly options: { readonly storage: Store; readonly clock: Clock; readonly logger: Logger };
}

/** Subscriptions to the instances of one namespace, and live views of them. */
export class Subscriptions {
  readonly #parts: SubscriptionsParts;
  readonly #namespace: string;
  /** Undefined for an engine alone, which hears everything itself. */
  readonly #cluster: ClusterSubscriptionParts | undefined;

  constructor(parts: SubscriptionsParts, namespace: string, instances: InstanceCalls) {
    this.#parts = parts;
    this.#namespace = namespace;
    const { region, relay, state, definitions, options } = parts;
    const { storage: store, clock, logger } = options;
    this.#cluster = relay && {
      namespace,
      region,
      follower: relay.follower,
      history: { store, definitions },
      clock,
      logger,
      isUp: () => state.isUp,
      mayRead: () => state.stage !== "stopping" && state.stage !== "stopped",
      keyOf: async (id) => (await instances.read({ type: "GetIdentity", id })).key,
      list: (page) => listInstances(store, namespace, page),
    };
  }

  subscribe(listener: (change: InstanceChange) => void, { instanceId, scope }: SubscribeOptions): Subscription {
    if (this.#cluster !== undefined && scope !== "process") {
      const subscription = new ClusterSubscription(this.#cluster, listener, instanceId);
      return Object.assign(() => subscription.stop(), { ready: subscription.ready });
    }
    const wanted = instanceId === undefined ? undefined : qualify(this.#namespace, instanceId);
    const unsubscribe = subscribeTo(this.#parts, listener, (id) => {
      return wanted === undefined ? namespaceOf(id) === this.#namespace : id === wanted;
    });
    return Object.assign(() => unsubscribe(), { ready: Promise.resolve() });
  }

  /** A view of an instance that another member owns; undefined for an engine alone. */
  live(instanceId: string): LiveInstance | undefined {
    return this.#cluster && new LiveInstance(this.#cluster, instanceId);
  }
}
