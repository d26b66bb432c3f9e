import type { Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import { qualify } from "../base/namespace.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { ClusterSubscriptionParts } from "./cluster-subscription.ts";
import { foldHistory } from "./folded-history.ts";
import type { InstanceChange } from "./instance-change.ts";
import type { RelaySubscription } from "./relay-follower.ts";

/** An instance that nobody has looked at for this long is not followed any more. */
const unseenMs = 30_000;
const pauseMs = 500;

/**
 * The machine of an instance of a DAG that another member owns: folded from its history, and kept up to date by the
 * relay while somebody looks at it.
 */
export class LiveInstance {
  readonly #parts: ClusterSubscriptionParts;
  readonly #instanceId: string;
  #machine: DagMachine | undefined;
  #turn = -1;
  #relay: RelaySubscription | undefined;
  #timer: Timer | undefined;
  #seenAt = 0;
  #reading: Promise<void> | undefined;
  #mustReread = false;

  constructor(parts: ClusterSubscriptionParts, instanceId: string) {
    this.#parts = parts;
    this.#instanceId = instanceId;
  }

  /** The machine as far as it is known; undefined until its history was read. */
  look(): DagMachine | undefined {
    this.#seenAt = this.#parts.clock.monotonic();
    if (this.#relay === undefined && this.#parts.isUp()) void this.#follow();
    return this.#machine;
  }

  /** Resolves when the machine is at least as new as this call. `INSTANCE_UNKNOWN`, and the errors of the store. */
  async refresh(): Promise<void> {
    this.look();
    await this.#reading?.catch(() => undefined);
    await this.#read();
  }

  async #follow(): Promise<void> {
    const { follower, namespace, clock } = this.#parts;
    const relay = follower.subscribe({
      namespace,
      withEvents: true,
      onChange: (change) => this.#take(change),
      onGap: () => this.#rereadSoon(),
      onStopped: () => this.#stopFollowing(),
    });
    this.#relay = relay;
    this.#timer = clock.after(unseenMs, () => this.#rest());
    const confirmed = relay.add({ instanceId: this.#instanceId });
    this.#rereadSoon();
    await confirmed;
    this.#rereadSoon();
  }

  #rest(): void {
    const { clock } = this.#parts;
    const leftMs = this.#seenAt + unseenMs - clock.monotonic();
    if (leftMs > 0) this.#timer = clock.after(leftMs, () => this.#rest());
    else this.#stopFollowing();
  }

  #stopFollowing(): void {
    this.#timer?.cancel();
    this.#relay?.stop();
    this.#relay = undefined;
  }

  #take({ createdAt, turn, events, at }: InstanceChange): void {
    const machine = this.#machine;
    const isSame = machine?.state.createdAt === createdAt;
    if (isSame && turn <= this.#turn) return;
    if (machine === undefined || !isSame || turn !== this.#turn + 1 || this.#reading !== undefined)
      return this.#rereadSoon();
    for (const event of events) machine.apply(event, at);
    this.#turn = turn;
  }

  #rereadSoon(): void {
    this.#mustReread = true;
    if (this.#reading !== undefined) return;
    this.#reading = this.#reread().finally(() => (this.#reading = undefined));
  }

  async #reread(): Promise<void> {
    const { mayRead, logger, clock } = this.#parts;
    while (this.#mustReread && this.#relay !== undefined && mayRead()) {
      this.#mustReread = false;
      try {
        await this.#read();
      } catch (error) {
        this.#mustReread = true;
        logger.debug(
          { instanceId: this.#instanceId, error: messageOf(error) },
          "the history of an instance that is looked at could not be read; retrying",
        );
        await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
      }
    }
  }

  async #read(): Promise<void> {
    const { keyOf, history, namespace } = this.#parts;
    const id = this.#instanceId;
    const key = await keyOf(id);
    const folded = await foldHistory(history, { id: qualify(namespace, id), key }, () => undefined);
    if (folded === undefined || !(folded.machine instanceof DagMachine)) return;
    // Two reads may overlap.
    const { createdAt } = folded.machine.state;
    if (this.#machine?.state.createdAt === createdAt && folded.turn <= this.#turn) return;
    this.#machine = folded.machine;
    this.#turn = folded.turn;
  }
}
