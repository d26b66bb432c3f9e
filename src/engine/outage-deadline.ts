import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { InstanceCallType } from "../runtime/call.ts";

/** Time a caller waits once the engine knows that the store takes no writes. */
export const outageAnswerMs = 10_000;

/** A caller whose write is under way. */
export interface OutageCaller {
  readonly callType: InstanceCallType;
  readonly instanceId: string;
  /** Its place in the list of callers, which is the deadline's; -1 outside. */
  place: number;
  /** Called when the outage has lasted too long. */
  onOutage(error: EngineError): void;
}

/**
 * Rejects callers whose write is under way while the store takes no writes. The write itself is not given up: it may
 * have landed, or land when the store is back, so the outcome is unknown.
 */
export class OutageDeadline {
  readonly #clock: Clock;
  /** In no order. A set would cost every caller a hash. */
  #callers: OutageCaller[] = [];
  #problem: unknown;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Settles as `work` does; `CALL_UNANSWERED` if an outage lasts too long: unlike `STORE_UNAVAILABLE` it says that the write may have landed. */
  bound<Result>(callType: InstanceCallType, instanceId: string, work: Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const caller: OutageCaller = { callType, instanceId, place: -1, onOutage: reject };
    this.add(caller);
    work.then(
      (result) => {
        this.delete(caller);
        resolve(result);
      },
      (error: unknown) => {
        this.delete(caller);
        reject(error);
      },
    );
    return promise;
  }

  /** Adds a caller, until `delete` is called with it. */
  add(caller: OutageCaller): void {
    caller.place = this.#callers.push(caller) - 1;
    this.#arm();
  }

  delete(caller: OutageCaller): void {
    const { place } = caller;
    if (place === -1) return;
    caller.place = -1;
    const last = this.#callers.pop() as OutageCaller;
    if (last === caller) return;
    this.#callers[place] = last;
    last.place = place;
  }

  /** Undefined when the store takes writes again. */
  onHealth(problem: unknown): void {
    this.#problem = problem;
    if (problem === undefined) this.#disarm();
    else this.#arm();
  }

  /** A stopped engine closes its store, which looks like an outage: no timer is set from then on. */
  stop(): void {
    this.#isStopped = true;
    this.#disarm();
  }

  /** A timer keeps the process alive, so it is set only while a caller waits during an outage. */
  #arm(): void {
    if (this.#isStopped || this.#problem === undefined || this.#callers.length === 0) return;
    this.#timer ??= this.#clock.after(outageAnswerMs, () => this.#answerAll());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #answerAll(): void {
    this.#timer = undefined;
    const callers = this.#callers;
    this.#callers = [];
    for (const caller of callers) caller.place = -1;
    for (const caller of callers) caller.onOutage(unknownOutcome(caller, this.#problem));
  }
}

function unknownOutcome({ callType, instanceId }: OutageCaller, problem: unknown): EngineError {
  const what = `"${callType}" of instance "${instanceId}"`;
  const message = `the store does not take writes, and whether ${what} is accepted is not known yet: it may still be when the store is back; ask again for the same id or key (${messageOf(problem)})`;
  return new EngineError("CALL_UNANSWERED", message, { cause: problem });
}
