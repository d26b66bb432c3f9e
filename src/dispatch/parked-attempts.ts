import type { Attempt } from "./attempt.ts";

/** Attempts whose job no worker knows. They hold no slot and take no part in the order until one does. */
export class ParkedAttempts {
  readonly #byJob = new Map<string, Set<Attempt>>();

  /** Whether it is the first to wait for its job. */
  add(attempt: Attempt): boolean {
    attempt.state = "parked";
    const { job } = attempt.run;
    const others = this.#byJob.get(job);
    if (others === undefined) this.#byJob.set(job, new Set([attempt]));
    else others.add(attempt);
    return others === undefined;
  }

  remove(attempt: Attempt): void {
    const { job } = attempt.run;
    const waiting = this.#byJob.get(job);
    waiting?.delete(attempt);
    if (waiting?.size === 0) this.#byJob.delete(job);
    attempt.state = "over";
  }

  /** Takes out all whose job is known by now. */
  takeKnown(isKnown: (job: string) => boolean): Attempt[] {
    const known: Attempt[] = [];
    for (const [job, attempts] of this.#byJob) {
      if (!isKnown(job)) continue;
      this.#byJob.delete(job);
      for (const attempt of attempts) known.push(attempt);
    }
    return known;
  }
}
