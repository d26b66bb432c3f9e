import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { GrantKey } from "./session-message.ts";

interface ReportedResult {
  /** 0 if it comes from an earlier connection. */
  grant: number;
  readonly descriptor: AttemptDescriptor;
  /** Monotonic time at which it was last passed on. */
  since: number;
  isFollowed: boolean;
}

/** Results of a remote worker that are being made durable. The worker keeps each of them until it is acknowledged. */
export class ReportedResults {
  readonly #monotonic: () => number;
  readonly #all = new Map<string, ReportedResult>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  add(grant: number, descriptor: AttemptDescriptor, isFollowed: boolean): void {
    this.#all.set(descriptor.attemptId, { grant, descriptor, since: this.#monotonic(), isFollowed });
  }

  has({ attemptId, grant }: GrantKey): boolean {
    return this.#all.get(attemptId)?.grant === grant;
  }

  descriptorOf(attemptId: string): AttemptDescriptor | undefined {
    return this.#all.get(attemptId)?.descriptor;
  }

  /** An owner makes it durable. False if there is no such result. */
  follow(attemptId: string): boolean {
    const reported = this.#all.get(attemptId);
    if (reported !== undefined) reported.isFollowed = true;
    return reported !== undefined;
  }

  /**
   * The worker has repeated a result. Returns it if it is to be announced: no owner is known yet, or the owner has not
   * made it durable in time, and the shard may have a new one.
   */
  repeat(attemptId: string, beatMs: number): AttemptDescriptor | undefined {
    const reported = this.#all.get(attemptId);
    const now = this.#monotonic();
    if (reported === undefined || now - reported.since < (reported.isFollowed ? 2 * beatMs : beatMs)) return undefined;
    reported.since = now;
    reported.isFollowed = false;
    return reported.descriptor;
  }

  /** Forgets it and returns its grant, for the worker to forget it too. */
  take(attemptId: string): number | undefined {
    const reported = this.#all.get(attemptId);
    this.#all.delete(attemptId);
    return reported?.grant;
  }

  /** A new connection of the worker has begun: grants of earlier ones have no number any more. */
  onConnected(): void {
    for (const reported of this.#all.values()) reported.grant = 0;
  }

  clear(): void {
    this.#all.clear();
  }
}
