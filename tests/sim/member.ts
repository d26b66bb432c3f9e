import type { Logger } from "../../src/base/logger.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import type { Store } from "../../src/stores/store.ts";
import type { Chance } from "./chance.ts";
import { LifeClock, MachineTime } from "./clock.ts";
import type { EventLog } from "./event-log.ts";
import type { LifeRecord } from "./evidence.ts";
import { simJobs } from "./jobs.ts";
import type { Mutation } from "./mutations.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";
import { SimStore, StoreLink, type StoreUser } from "./store.ts";
import type { Witness } from "./witness.ts";

/** A machine: its clocks and its cables, and one process after the other. */
export class Member {
  readonly name: string;
  readonly time = new MachineTime();
  readonly link = new StoreLink();
  life: Life | undefined;
  /** Somebody sees to it that there is always a process; not while it has left. */
  isWanted = true;

  constructor(name: string) {
    this.name = name;
  }

  /** Its engine answers calls. */
  get isUp(): boolean {
    return this.life?.isUp ?? false;
  }
}

export interface LifeParts {
  readonly member: Member;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly log: EventLog;
  readonly witness: Witness;
  readonly inner: Store;
  /** Where the store is a server, calls may still be on their way to it when their sender is gone. */
  readonly isServer: boolean;
  readonly mutation: Mutation | undefined;
  /** All that is not one life's own. */
  readonly options: (life: EventOwner) => Partial<EngineOptions>;
}

/** One process on a machine. Once it is dead, nothing of it is seen any more. */
export class Life implements StoreUser {
  readonly record: LifeRecord;
  readonly clock: LifeClock;
  readonly store: SimStore;
  readonly engine: Engine;
  readonly died: Promise<void>;
  isDead = false;
  isFrozen = false;
  /** Goes down with every call to the store: at zero the process is gone, in the middle of what it does. */
  callsToLive = Infinity;
  readonly #parts: LifeParts;
  readonly #die: () => void;

  constructor(parts: LifeParts) {
    const { member, scheduler, witness, chance, inner, log } = parts;
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
    this.record = witness.birth(member.name, member.time.rate);
    this.clock = new LifeClock(scheduler, member.time, this);
    const { link } = member;
    this.store = new SimStore({ inner, user: this, link, scheduler, chance: chance.fork("store"), log, witness });
    const logger: Logger = witness.loggerOf(this);
    const { mutation } = parts;
    this.engine = new Engine({
      ...parts.options(this),
      storage: mutation?.store?.(this.store) ?? this.store,
      clock: mutation?.clock?.(this.clock) ?? this.clock,
      random: chance.fork("engine"),
      logger,
      jobs: simJobs(this, witness),
    });
  }

  get number(): number {
    return this.record.number;
  }

  get machine(): string {
    return this.record.machine;
  }

  get isUp(): boolean {
    return !this.isDead && this.record.up !== undefined && this.record.stopping === undefined;
  }

  onStoreCall(name: string): void {
    if (--this.callsToLive <= 0) this.crash(`at its call ${name}`);
  }

  /** From one moment to the next it is gone. */
  crash(why: string): void {
    if (this.isDead) return;
    this.#parts.witness.death(this.record, "crashed", why);
    this.#end();
    this.store.abandon({ isServer: this.#parts.isServer });
  }

  /** It has ended by itself. */
  finish(how: "stopped" | "gave up", why: string): void {
    if (this.isDead) return;
    this.#parts.witness.death(this.record, how, why);
    this.#end();
  }

  freeze(kind: "stopped" | "suspended"): void {
    this.isFrozen = true;
    this.record.freezes.push({ from: this.#parts.witness.moment(), to: undefined, kind });
    this.#parts.log.note(`${this.machine} is ${kind}`);
  }

  /** What would have happened meanwhile happens now. A suspended machine's monotonic clock has stood still. */
  thaw(): void {
    if (!this.isFrozen) return;
    const { witness, log, member, scheduler } = this.#parts;
    this.isFrozen = false;
    const freeze = this.record.freezes.at(-1);
    if (freeze !== undefined) {
      freeze.to = witness.moment();
      if (freeze.kind === "suspended") member.time.suspendedMs += freeze.to.at - freeze.from.at;
    }
    log.note(`${this.machine} goes on`);
    scheduler.release(this);
  }

  #end(): void {
    this.isDead = true;
    this.isFrozen = false;
    this.#parts.member.life = undefined;
    this.#die();
  }
}
