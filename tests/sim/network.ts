import type { Bus, BusConnection, BusListener } from "../../src/cluster/bus.ts";
import type { SimRandom } from "./sim-random.ts";
import type { EventLog } from "./event-log.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";

/** The conditions of messages between machines that are not partitioned. */
export interface NetworkConditions {
  readonly delayMs: number;
  readonly loss: number;
  readonly doubling: number;
  /** The share of messages that take much longer and are overtaken. */
  readonly straying: number;
}

export const calmNetwork: NetworkConditions = { delayMs: 1, loss: 0, doubling: 0, straying: 0 };

/** A process that sends and receives messages. */
export interface Place {
  readonly machine: string;
  readonly owner: EventOwner;
}

/** The listeners by address. */
interface Connection extends Place {
  readonly listener: BusListener;
  isOpen: boolean;
}

/**
 * The network between the machines, which also carries the bus of the cluster. It loses, duplicates and delays messages
 * according to its conditions.
 */
export class Network {
  conditions: NetworkConditions = calmNetwork;
  readonly #scheduler: Scheduler;
  readonly #random: SimRandom;
  readonly #log: EventLog;
  readonly #connections = new Map<string, Connection>();
  /** Blocked directions, as `from>to`. */
  readonly #cuts = new Set<string>();

  constructor(parts: { scheduler: Scheduler; random: SimRandom; log: EventLog }) {
    this.#scheduler = parts.scheduler;
    this.#random = parts.random;
    this.#log = parts.log;
  }

  /** The bus of one process. */
  busOf(machine: string, owner: EventOwner): Bus {
    return { connect: (address, listener) => this.#connect(address, { machine, owner, listener, isOpen: true }) };
  }

  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
  }

  /** `to` is undefined if the address is unknown; `name` is the address. */
  send(from: Place, to: Place | undefined, { name, text }: { name: string; text: string }, hear: () => void): void {
    if (from.owner.isDead) return;
    this.#log.note(`${from.machine} sends to ${name}: ${text.slice(0, 80)}`, text);
    if (to === undefined || this.#random.isLucky(this.conditions.loss)) return;
    this.#carry(from, to, hear);
    if (this.#random.isLucky(this.conditions.doubling)) this.#carry(from, to, hear);
  }

  #connect(address: string, connection: Connection): BusConnection {
    this.#connections.set(address, connection);
    return {
      send: (name, text) => {
        const target = this.#connections.get(name);
        this.send(connection, target, { name, text }, () => {
          if (target?.isOpen) target.listener(text);
        });
      },
      close: () => {
        connection.isOpen = false;
        if (this.#connections.get(address) === connection) this.#connections.delete(address);
      },
    };
  }

  /**
   * Delivers a message, unless the direction is blocked or the receiver has ended by then; a frozen receiver gets it
   * when it continues.
   */
  #carry(from: Place, to: Place, hear: () => void): void {
    const { delayMs, straying } = this.conditions;
    const strayMs = this.#random.isLucky(straying) ? this.#random.waitMs(100 * delayMs) : 0;
    this.#scheduler.after(this.#random.waitMs(delayMs) + strayMs, to.owner, () => {
      if (!this.#cuts.has(`${from.machine}>${to.machine}`)) hear();
    });
  }
}
