import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { AbortOrder, GrantKey } from "./session-message.ts";

/** How an aborted attempt stopped. `disconnected`: it may keep running for another member. */
export type HowStopped = "stopped" | "disconnected";

interface StoppingAttempt {
  readonly descriptor: AttemptDescriptor;
  /** 0 if it comes from an earlier connection. */
  grant: number;
  readonly reason: unknown;
  readonly promise: Promise<HowStopped>;
  readonly resolve: (how: HowStopped) => void;
}

/** Aborted attempts that a remote worker may not have stopped yet. Each abort is repeated until the worker has shown that. */
export class StoppingAttempts {
  readonly #send: (message: AbortOrder) => void;
  readonly #onStopped: () => void;
  readonly #all = new Set<StoppingAttempt>();

  /** `onStopped` is called when an attempt has stopped, which frees its slot. */
  constructor(send: (message: AbortOrder) => void, onStopped: () => void) {
    this.#send = send;
    this.#onStopped = onStopped;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Sends an abort, which is repeated with each heartbeat until the worker has stopped the attempt. */
  add(grant: number, descriptor: AttemptDescriptor, reason: unknown): void {
    const { promise, resolve } = Promise.withResolvers<HowStopped>();
    const stopping = { descriptor, grant, reason, promise, resolve };
    this.#all.add(stopping);
    this.#sendAbort(stopping);
  }

  descriptorOf(attemptId: string): AttemptDescriptor | undefined {
    return [...this.#all].find(({ descriptor }) => descriptor.attemptId === attemptId)?.descriptor;
  }

  /** Resolves when the attempt that was aborted last under that id has stopped. */
  whenStopped(attemptId: string): Promise<HowStopped> | undefined {
    return [...this.#all].findLast(({ descriptor }) => descriptor.attemptId === attemptId)?.promise;
  }

  settle({ attemptId, grant }: GrantKey): void {
    for (const stopping of this.#all) {
      if (stopping.descriptor.attemptId !== attemptId || stopping.grant !== grant) continue;
      this.#all.delete(stopping);
      stopping.resolve("stopped");
      this.#onStopped();
    }
  }

  /** Settles those that do not run and whose grant is void, and repeats the abort of the others. */
  reconcile(lastGrant: number, running: ReadonlyMap<string, number>): void {
    for (const stopping of this.#all) {
      const { grant, descriptor } = stopping;
      const { attemptId } = descriptor;
      if (running.get(attemptId) === grant) continue;
      if (grant <= lastGrant) this.settle({ attemptId, grant });
      else this.#sendAbort(stopping);
    }
  }

  /** A new connection of the worker has begun: grants of earlier ones have no number any more. */
  onConnected(): void {
    for (const stopping of this.#all) stopping.grant = 0;
  }

  /** The session is over. */
  end(how: HowStopped): void {
    for (const { resolve } of this.#all) resolve(how);
    this.#all.clear();
  }

  #sendAbort({ descriptor, grant, reason }: StoppingAttempt): void {
    const { name, message } = reason instanceof Error ? reason : new Error(String(reason));
    this.#send({ type: "Abort", attemptId: descriptor.attemptId, grant, reason: { name, message } });
  }
}
