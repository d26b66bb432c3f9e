import type { Clock } from "../base/clock.ts";
import type { MemberEvent } from "../cluster/member-event.ts";
import type { Membership } from "../cluster/membership.ts";

/** Knowledge of the other members: who lives, who left cleanly, who is suspected, and when one was last lost. */
export class KnownMembers {
  readonly #membership: Membership;
  readonly #clock: Clock;
  readonly #suspected = new Set<string>();
  /** Members that left cleanly. */
  readonly #left = new Set<string>();
  /** Monotonic time of the last loss that this member saw, or of its own join; Infinity before that. */
  #lossSeenAt = Infinity;

  constructor(membership: Membership, clock: Clock) {
    this.#membership = membership;
    this.#clock = clock;
  }

  /** True if the newest view contains the member. */
  isLiving(member: string): boolean {
    return this.#membership.living.has(member);
  }

  isSuspected(member: string): boolean {
    return this.#suspected.has(member);
  }

  hasLeft(member: string): boolean {
    return this.#left.has(member);
  }

  /** True if the newest view was requested after that moment of the monotonic clock. */
  hasSeen(moment: number): boolean {
    return this.#membership.viewAskedAt >= moment;
  }

  /** The members in the newest view, if it was requested after that moment of the monotonic clock. */
  livingSince(moment: number): ReadonlySet<string> | undefined {
    return this.hasSeen(moment) ? this.#membership.living : undefined;
  }

  others(): string[] {
    const { living, id } = this.#membership;
    return [...living].filter((member) => member !== id);
  }

  /** Time since a member was lost or left, as far as this one has seen. */
  get msSinceLoss(): number {
    return this.#clock.monotonic() - this.#lossSeenAt;
  }

  onEvent(event: MemberEvent): void {
    const isOwnJoin = event.type === "joined" && event.member === this.#membership.id;
    // Workers of a member that leaves cleanly take their attempts along, so that counts as a loss too.
    if (isOwnJoin || event.type === "lost" || event.type === "left") this.#lossSeenAt = this.#clock.monotonic();
    if (event.type === "suspected") this.#suspected.add(event.member);
    else if (event.type !== "joined") this.#suspected.delete(event.member);
    if (event.type === "left") this.#left.add(event.member);
  }
}
