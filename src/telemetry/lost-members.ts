import type { MemberEvent } from "../cluster/member-event.ts";

/** Lost members are forgotten after this time. */
const missedMs = 15 * 60_000;

/**
 * Members that were declared dead and not replaced. A suspected member is removed within
 * half a minute: without this, a gauge would hardly show it.
 */
export class LostMembers {
  #lostAt: number[] = [];

  observe({ type }: MemberEvent, now: number): void {
    if (type === "lost") this.#lostAt.push(now);
    else if (type === "joined") this.#lostAt.shift();
  }

  count(now: number): number {
    this.#lostAt = this.#lostAt.filter((at) => now - at < missedMs);
    return this.#lostAt.length;
  }
}
