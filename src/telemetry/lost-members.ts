import type { MemberEvent } from "../cluster/member-event.ts";

/** After this long nobody expects them back. */
const missedMs = 15 * 60_000;

/**
 * Members that fell silent and were removed, and in whose place nobody has come. A suspected member is removed within
 * half a minute: without this, one that is gone would hardly be seen.
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
