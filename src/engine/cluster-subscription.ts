import type { Clock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { namespaceOf, qualify } from "../base/namespace.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import type { Region } from "../runtime/region.ts";
import type { InstanceSummary } from "../stores/store.ts";
import { type FoldedHistory, foldHistory, type HistorySource } from "./folded-history.ts";
import { changeOf, type InstanceChange } from "./instance-change.ts";
import { OrderedChanges } from "./ordered-changes.ts";
import type { RelayFollower, RelaySubscription } from "./relay-follower.ts";

const pageSize = 1000;

/** After a gap this many instances of the list are looked through, the newest first. */
const listedMax = 20_000;

/** Tolerance between the time of an end and its place in the list. */
const slackMs = 60_000;

/** A process of a cluster, as far as its subscriptions need it. */
export interface ClusterSubscriptionParts {
  readonly namespace: string;
  readonly region: Pick<Region, "subscribe" | "shardsOpened">;
  readonly follower: Pick<RelayFollower, "subscribe">;
  readonly history: HistorySource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isUp: () => boolean;
  /** False once the engine has stopped. */
  readonly mayRead: () => boolean;
  /** `INSTANCE_UNKNOWN`. */
  readonly keyOf: (instanceId: string) => Promise<number>;
  readonly list: (page: {
    readonly limit: number;
    readonly before?: { readonly createdAt: number; readonly key: number };
  }) => Promise<readonly InstanceSummary[]>;
}

/**
 * Hears the changes of one instance, or of all in a namespace, that any member of the cluster commits: own turns from the
 * region, those of other members from the relay, and what the relay lost from the store.
 */
export class ClusterSubscription {
  /**
   * Resolves when every living member sends its changes, or after two seconds; those that come later make a gap. That of
   * one instance also waits until the place is read from which its turns are delivered.
   */
  readonly ready: Promise<void>;
  readonly #parts: ClusterSubscriptionParts;
  readonly #instanceId: string | undefined;
  readonly #changes: OrderedChanges;
  readonly #relay: RelaySubscription;
  readonly #unsubscribe: () => void;
  #isListing = false;
  #mustList = false;

  constructor(
    parts: ClusterSubscriptionParts,
    listener: (change: InstanceChange) => void,
    instanceId: string | undefined,
  ) {
    this.#parts = parts;
    this.#instanceId = instanceId;
    const { namespace, region, follower, clock, logger, mayRead } = parts;
    this.#changes = new OrderedChanges({
      clock,
      logger,
      listener,
      mayRead,
      readHistory: (id, onTurn) => this.#readHistory(id, onTurn),
    });
    this.#relay = follower.subscribe({
      namespace,
      withEvents: true,
      onChange: (change) => this.#changes.take(change),
      onGap: () => this.#onGap(),
      onShardsOpened: () => this.#changes.expectMissing(),
    });
    const wanted = instanceId === undefined ? undefined : qualify(namespace, instanceId);
    let { shardsOpened } = region;
    this.#unsubscribe = region.subscribe((turn) => {
      if (region.shardsOpened !== shardsOpened) this.#changes.expectMissing();
      ({ shardsOpened } = region);
      const isWanted = wanted === undefined ? namespaceOf(turn.instanceId) === namespace : turn.instanceId === wanted;
      if (isWanted) this.#changes.take(changeOf(turn));
    });
    this.ready = this.#begin();
  }

  stop(): void {
    this.#changes.stop();
    this.#unsubscribe();
    this.#relay.stop();
  }

  async #begin(): Promise<void> {
    const id = this.#instanceId;
    if (id === undefined) return await this.#relay.add({ all: true });
    if (!this.#parts.isUp()) return await this.#relay.add({ instanceId: id });
    this.#changes.hold(id);
    const confirmed = this.#relay.add({ instanceId: id });
    const place = await this.#findPlace(id);
    await confirmed;
    if (place === undefined) this.#changes.release(id);
    else this.#changes.releaseAfter(id, place);
  }

  /**
   * The place of the instance as the subscription begins, read again until the store answers: turns may be durable long
   * after the time that they carry, so no time tells which of them came later. Undefined if the subscription has ended.
   */
  async #findPlace(id: string): Promise<{ createdAt: number; turn: number; at: number } | undefined> {
    const { clock, logger, mayRead } = this.#parts;
    while (!this.#changes.isStopped && mayRead()) {
      const at = clock.now();
      try {
        const folded = await this.#fold(id, () => undefined);
        if (folded !== undefined) return { createdAt: folded.machine.state.createdAt, turn: folded.turn, at };
        return { createdAt: -1, turn: -1, at };
      } catch (error) {
        if (hasCode(error, "INSTANCE_UNKNOWN")) return { createdAt: -1, turn: -1, at };
        const fields = { instanceId: id, error: messageOf(error) };
        logger.debug(fields, "the history of an instance could not be read for a subscriber; retrying");
      }
      await this.#changes.pause();
    }
    return undefined;
  }

  async #readHistory(id: string, onTurn: (change: InstanceChange) => void): Promise<void> {
    await this.#fold(id, (turn) => onTurn(changeOf(turn)));
  }

  async #fold(id: string, onTurn: (turn: CommittedTurn) => void): Promise<FoldedHistory | undefined> {
    const { keyOf, history, namespace } = this.#parts;
    const key = await keyOf(id);
    return await foldHistory(history, { id: qualify(namespace, id), key }, onTurn);
  }

  #onGap(): void {
    this.#changes.expectMissing();
    if (this.#instanceId !== undefined) return void this.#changes.reread(this.#instanceId);
    this.#mustList = true;
    if (!this.#isListing) void this.#rereadListed();
  }

  async #rereadListed(): Promise<void> {
    const { logger, mayRead } = this.#parts;
    this.#isListing = true;
    while (this.#mustList && !this.#changes.isStopped && mayRead()) {
      this.#mustList = false;
      try {
        await this.#readListed();
      } catch (error) {
        this.#mustList = true;
        logger.debug(
          { error: messageOf(error) },
          "instances could not be listed for a subscriber after changes of another member were lost; retrying",
        );
        await this.#changes.pause();
      }
    }
    this.#isListing = false;
  }

  async #readListed(): Promise<void> {
    let before: InstanceSummary | undefined;
    for (let count = 0; count < listedMax; count += pageSize) {
      const page = await this.#parts.list({ limit: pageSize, ...(before !== undefined && { before }) });
      for (const summary of page) if (await this.#hasMissed(summary)) await this.#changes.reread(summary.id);
      before = page.at(-1);
      if (page.length < pageSize) return;
    }
  }

  async #hasMissed({ id, key, createdAt, endedAt }: InstanceSummary): Promise<boolean> {
    const since = this.#changes.since - slackMs;
    const last = this.#changes.lastTurnOf(id, createdAt);
    if (last === undefined) return createdAt >= since || (endedAt !== null && endedAt >= since);
    return (await this.#parts.history.store.listHistory(key, { afterTurn: last, limit: 1 })).length > 0;
  }
}
