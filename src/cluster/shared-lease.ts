import type { Moment } from "../base/moment.ts";

/** A lease as the event loop holds it. */
export interface HeldLease {
  readonly member: string;
  /** The moment before the last successful renewal was sent. */
  readonly sent: Moment;
  /** The member's heartbeat in the store after that renewal, or less. */
  readonly heartbeat: number;
}

/** The event loop's side of a thread that renews the lease while the loop is blocked. */
export interface LeaseThread {
  /** Lets the thread renew the lease from now on; called after each renewal by the loop. */
  hold(lease: HeldLease): void;
  /** The loop has no lease any more, or has given it up: the thread renews nothing until the next `hold`. */
  release(): void;
  /** The moment at which the thread sent its last successful renewal of the member's present lease. */
  renewalOf(member: string): Moment | undefined;
}

/** What the thread renews. */
export interface LeaseTerm extends HeldLease {
  readonly term: number;
}

const numberBytes = Float64Array.BYTES_PER_ELEMENT;
const headBytes = 4 * Int32Array.BYTES_PER_ELEMENT;
/** Ids of members are below 256 characters of up to 3 bytes. */
const idBytesMax = 1024;

/** Places of the head. The version is odd while the loop writes; the thread then reads nothing. */
const versionAt = 0;
const termAt = 1;
const idLengthAt = 2;
const lastRenewalAt = 3;

/** Places of the loop's numbers, and of the thread's two renewals behind them. */
const heldAt = { monotonic: 0, wall: 1, heartbeat: 2 } as const;
const renewalsAt = 3;
const renewalSize = 4;
const inRenewal = { term: 0, monotonic: 1, wall: 2, heartbeat: 3 } as const;
const numbersLength = renewalsAt + 2 * renewalSize;

export const sharedLeaseBytes = headBytes + numbersLength * numberBytes + idBytesMax;

/**
 * The lease in memory that the event loop and the watchdog's thread share. Each side writes fields of its own.
 *
 * - The loop raises the version before and after it writes; the thread takes nothing that changed while it was read.
 * - The thread writes a renewal beside its last one, and then says which of the two is the last. A loop that is late by
 *   two renewals may see a mixture: of moments that were both sent, and the earlier decides (`elapsedMsBetween`).
 * - A term is one unbroken time of holding. A renewal of an earlier term, whose answer was late, counts for nothing.
 *
 * Threads have different origins of their monotonic clocks. `originMs` is that of the process minus that of the thread.
 */
export class SharedLease implements LeaseThread {
  readonly #head: Int32Array;
  readonly #numbers: Float64Array;
  readonly #id: Uint8Array;
  readonly #originMs: number;
  #member: string | undefined;

  constructor(memory: SharedArrayBuffer, originMs: number) {
    this.#head = new Int32Array(memory, 0, headBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#numbers = new Float64Array(memory, headBytes, numbersLength);
    this.#id = new Uint8Array(memory, headBytes + numbersLength * numberBytes, idBytesMax);
    this.#originMs = originMs;
  }

  hold({ member, sent, heartbeat }: HeldLease): void {
    this.#write(() => {
      if (this.#member !== member) this.#begin(member);
      this.#numbers[heldAt.monotonic] = sent.monotonic + this.#originMs;
      this.#numbers[heldAt.wall] = sent.wall;
      this.#numbers[heldAt.heartbeat] = heartbeat;
    });
  }

  release(): void {
    if (this.#member === undefined) return;
    this.#member = undefined;
    this.#write(() => void (this.#head[idLengthAt] = 0));
  }

  renewalOf(member: string): Moment | undefined {
    if (member !== this.#member) return undefined;
    return this.#renewal(Atomics.load(this.#head, termAt))?.sent;
  }

  /** The thread's view of the lease, with its own renewals; undefined if none is held, or the loop is writing. */
  read(): LeaseTerm | undefined {
    const version = Atomics.load(this.#head, versionAt);
    const term = Atomics.load(this.#head, termAt);
    const length = Atomics.load(this.#head, idLengthAt);
    // A decoder takes no shared memory.
    const member = new TextDecoder().decode(Uint8Array.from(this.#id.subarray(0, length)));
    const sent = this.#momentAt(heldAt.monotonic, heldAt.wall);
    const heartbeat = this.#numbers[heldAt.heartbeat] as number;
    if (length === 0 || version % 2 !== 0 || Atomics.load(this.#head, versionAt) !== version) return undefined;
    const own = this.#renewal(term);
    if (own === undefined || own.sent.monotonic < sent.monotonic) return { term, member, sent, heartbeat };
    return { term, member, sent: own.sent, heartbeat: Math.max(heartbeat, own.heartbeat) };
  }

  /** The thread has renewed the lease. */
  renew(term: number, sent: Moment, heartbeat: number): void {
    const next = 1 - Atomics.load(this.#head, lastRenewalAt);
    const at = renewalsAt + next * renewalSize;
    this.#numbers[at + inRenewal.term] = term;
    this.#numbers[at + inRenewal.monotonic] = sent.monotonic + this.#originMs;
    this.#numbers[at + inRenewal.wall] = sent.wall;
    this.#numbers[at + inRenewal.heartbeat] = heartbeat;
    Atomics.store(this.#head, lastRenewalAt, next);
  }

  #renewal(term: number): { sent: Moment; heartbeat: number } | undefined {
    const at = renewalsAt + Atomics.load(this.#head, lastRenewalAt) * renewalSize;
    if (this.#numbers[at + inRenewal.term] !== term) return undefined;
    const sent = this.#momentAt(at + inRenewal.monotonic, at + inRenewal.wall);
    return { sent, heartbeat: this.#numbers[at + inRenewal.heartbeat] as number };
  }

  #begin(member: string): void {
    this.#member = member;
    const { written } = new TextEncoder().encodeInto(member, this.#id);
    this.#head[idLengthAt] = written;
    Atomics.add(this.#head, termAt, 1);
  }

  #write(change: () => void): void {
    Atomics.add(this.#head, versionAt, 1);
    change();
    Atomics.add(this.#head, versionAt, 1);
  }

  #momentAt(monotonicAt: number, wallAt: number): Moment {
    const monotonic = (this.#numbers[monotonicAt] as number) - this.#originMs;
    return { monotonic, wall: this.#numbers[wallAt] as number };
  }
}
