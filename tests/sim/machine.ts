import { LifeClock, MachineTime } from "./clock.ts";
import type { EventLog } from "./event-log.ts";
import type { FreezeKind, LifeRecord } from "./evidence.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";

/** A machine: its clocks, and one process after the other. */
export class Machine<Running extends Life = Life> {
  readonly name: string;
  readonly time = new MachineTime();
  life: Running | undefined;
  /** Whether the supervisor keeps a process running; false while the machine has left. */
  isWanted = true;
  /** True while an operator lets no process start here, whoever wants it. */
  isHeld = false;

  constructor(name: string) {
    this.name = name;
  }

  get isUp(): boolean {
    return this.life?.isUp ?? false;
  }
}

export interface LifeParts {
  readonly machine: Machine;
  readonly role: LifeRecord["role"];
  readonly scheduler: Scheduler;
  readonly log: EventLog;
  readonly recorder: Recorder;
}

/** One process on a machine. After its end, it has no effects any more. */
export abstract class Life implements EventOwner {
  readonly record: LifeRecord;
  readonly clock: LifeClock;
  readonly died: Promise<void>;
  isDead = false;
  isFrozen = false;
  readonly #parts: LifeParts;
  readonly #die: () => void;

  constructor(parts: LifeParts) {
    const { machine, role, scheduler, recorder } = parts;
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
    this.record = recorder.recordStart(machine.name, role, machine.time.rate);
    this.clock = new LifeClock(scheduler, machine.time, this);
  }

  abstract start(): Promise<void>;

  /** Stops the process gracefully. */
  abstract stop(): Promise<void>;

  get number(): number {
    return this.record.number;
  }

  get machine(): string {
    return this.record.machine;
  }

  get isUp(): boolean {
    return !this.isDead && this.record.up !== undefined && this.record.stopping === undefined;
  }

  /** Ends the process at once. */
  crash(why: string): void {
    if (this.isDead) return;
    this.#parts.recorder.recordEnd(this.record, "crashed", why);
    this.#end();
    this.onCrash();
  }

  /** Records that the process has ended by itself. */
  finish(how: "stopped" | "gave up", why: string): void {
    if (this.isDead) return;
    this.#parts.recorder.recordEnd(this.record, how, why);
    this.#end();
  }

  freeze(kind: FreezeKind): void {
    this.isFrozen = true;
    this.record.freezes.push({ from: this.#parts.recorder.moment(), to: undefined, kind });
    this.#parts.log.note(`${this.machine} is ${kind}`);
  }

  /** Runs the events that were due meanwhile. The monotonic clock of a suspended machine has stood still. */
  thaw(): void {
    if (!this.isFrozen) return;
    const { recorder, log, machine, scheduler } = this.#parts;
    this.isFrozen = false;
    const freeze = this.record.freezes.at(-1);
    if (freeze !== undefined) {
      freeze.to = recorder.moment();
      if (freeze.kind === "suspended") machine.time.suspendedMs += freeze.to.at - freeze.from.at;
    }
    log.note(`${this.machine} goes on`);
    scheduler.release(this);
    this.onThaw();
  }

  /** The process runs again, with all its threads. */
  onThaw(): void {}

  /** Handles calls that are in flight at a crash. */
  onCrash(): void {}

  #end(): void {
    this.isDead = true;
    this.isFrozen = false;
    this.#parts.machine.life = undefined;
    this.#die();
  }
}
