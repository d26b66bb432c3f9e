import type { LoopWatch, LoopWork, LoopWorkKind } from "../base/loop-watch.ts";

const kinds: readonly LoopWorkKind[] = ["code", "decision", "job"];

/** Certainty that work blocks the loop: it runs; its promises are settling; it awaits something. */
export type LoopWorkPhase = "running" | "reacting" | "waiting";

export interface LoopWorkEntry extends LoopWork {
  readonly phase: LoopWorkPhase;
}

const entriesMax = 1024;
/** Entries that suspended work leaves free, so that a call that is about to run always finds one. */
const reservedEntries = 32;
/** The number of work that has no entry. */
const unnamed = -1;
const entryBytes = 2048;
const headBytes = 16;
const entryHeadBytes = 4;
/** Names may hold any character but this one. */
const separator = "\0";

/** Places of the head, in numbers of 32 bits. */
const heartbeatAt = 0;
const isReportedAt = 1;
const unnamedCountAt = 2;
const currentAt = 3;

/** Depth limit of a followed microtask chain. */
const levelsMax = 8;

const settled = Promise.resolve();

/** Bits of an entry's first byte: 0 is a free entry; otherwise the kind's number plus one, and whether it is suspended. */
const suspendedBit = 0x80;

export const loopWorkBytes = headBytes + entriesMax * entryBytes;

/**
 * Users' code that is under way on the event loop, and the loop's heartbeat, in memory that two threads share: the main
 * thread writes, and the watchdog's thread reads while the main thread is blocked. Of each entry: kind and phase (1 byte),
 * the length of its text (2 bytes), the text.
 */
export class LoopWorkTable implements LoopWatch {
  readonly #head: Int32Array;
  readonly #entries: readonly Uint8Array[];
  readonly #texts: readonly Uint8Array[];
  readonly #free = Array.from({ length: entriesMax }, (_, entry) => entriesMax - 1 - entry);
  /** Number of times each entry was freed. */
  readonly #freed = Array.from({ length: entriesMax }, () => 0);
  readonly #encoder = new TextEncoder();

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, headBytes / Int32Array.BYTES_PER_ELEMENT);
    const places = Array.from({ length: entriesMax }, (_, entry) => headBytes + entry * entryBytes);
    this.#entries = places.map((at) => new Uint8Array(memory, at, entryBytes));
    this.#texts = places.map((at) => new Uint8Array(memory, at + entryHeadBytes, entryBytes - entryHeadBytes));
  }

  get heartbeat(): number {
    return Atomics.load(this.#head, heartbeatAt);
  }

  beat(): void {
    Atomics.add(this.#head, heartbeatAt, 1);
  }

  /** The watchdog's thread has written a line about the stall. */
  markReported(): void {
    Atomics.store(this.#head, isReportedAt, 1);
  }

  /** True if a stall was reported since the last call. */
  takeReported(): boolean {
    return Atomics.exchange(this.#head, isReportedAt, 0) === 1;
  }

  /** Work that is under way and did not fit into the table. */
  get unnamedCount(): number {
    return Atomics.load(this.#head, unnamedCountAt);
  }

  enter(kind: LoopWorkKind, instanceId: string, workflowName: string, step: string): number {
    const work = this.#free.pop();
    if (work === undefined) return this.#addUnnamed();
    const entry = this.#entries[work] as Uint8Array;
    const text = `${instanceId}${separator}${workflowName}${separator}${step}`;
    const { written } = this.#encoder.encodeInto(text, this.#texts[work] as Uint8Array);
    entry[1] = written & 0xff;
    entry[2] = written >>> 8;
    entry[0] = kinds.indexOf(kind) + 1;
    return work;
  }

  /**
   * When several works react in the same turn of the loop, their microtasks run level by level: those of the first work,
   * those of the second, and again. A microtask that is queued before the first of a work stays before all of that level
   * if it queues itself again, so it can note whose turn it is.
   */
  follow(work: number): void {
    const freed = this.#freed[work];
    let level = 0;
    const note = (): void => {
      const isFollowed = level++ < levelsMax;
      const isNamed = isFollowed && work !== unnamed && this.#freed[work] === freed;
      this.#head[currentAt] = isNamed ? work + 1 : 0;
      if (isFollowed) void settled.then(note);
    };
    void settled.then(note);
  }

  suspend(work: number): number {
    const entry = this.#entries[work];
    if (entry === undefined) return work;
    if (this.#free.length < reservedEntries) {
      this.leave(work);
      return this.#addUnnamed();
    }
    entry[0] = (entry[0] as number) | suspendedBit;
    return work;
  }

  leave(work: number): void {
    const entry = this.#entries[work];
    if (entry === undefined) {
      Atomics.sub(this.#head, unnamedCountAt, 1);
      return;
    }
    entry[0] = 0;
    this.#freed[work] = (this.#freed[work] as number) + 1;
    this.#free.push(work);
  }

  #addUnnamed(): number {
    Atomics.add(this.#head, unnamedCountAt, 1);
    return unnamed;
  }

  list(): LoopWorkEntry[] {
    const current = Atomics.load(this.#head, currentAt) - 1;
    return this.#entries
      .map((entry, work) => readEntry(entry, work === current))
      .filter((entry) => entry !== undefined);
  }
}

function readEntry(entry: Uint8Array, isCurrent: boolean): LoopWorkEntry | undefined {
  const [state = 0, low = 0, high = 0] = entry;
  const kind = kinds[(state & ~suspendedBit) - 1];
  if (kind === undefined) return undefined;
  // A decoder takes no shared memory.
  const bytes = Uint8Array.from(entry.subarray(entryHeadBytes, entryHeadBytes + low + (high << 8)));
  const [instanceId = "", workflowName = "", step = ""] = new TextDecoder().decode(bytes).split(separator);
  const isSuspended = (state & suspendedBit) !== 0;
  const phase = isCurrent || !isSuspended ? "running" : kind === "code" ? "reacting" : "waiting";
  return { kind, instanceId, workflowName, step, phase };
}
