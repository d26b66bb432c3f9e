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
  readonly onChanged: () => void;
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
  /** Machines that cannot reach the server of the bus. */
  readonly #away = new Set<string>();

  constructor(parts: { scheduler: Scheduler; random: SimRandom; log: EventLog }) {
    this.#scheduler = parts.scheduler;
    this.#random = parts.random;
    this.#log = parts.log;
  }

  /** The bus of one process. */
  busOf(machine: string, owner: EventOwner): Bus {
    return {
      kind: "simulated",
      connect: (address, listener, onChanged = () => undefined) =>
        this.#connect(address, { machine, owner, listener, onChanged, isOpen: true }),
    };
  }

  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
    this.reconnect([...this.#away]);
  }

  /** The machines lose their connections to the server of the bus, and notice. */
  disconnect(machines: readonly string[]): void {
    for (const machine of machines) this.#away.add(machine);
    this.#notify(machines);
  }

  reconnect(machines: readonly string[]): void {
    for (const machine of machines) this.#away.delete(machine);
    this.#notify(machines);
  }

  #notify(machines: readonly string[]): void {
    for (const connection of this.#connections.values()) {
      if (!machines.includes(connection.machine)) continue;
      this.#scheduler.after(0, connection.owner, () => {
        if (connection.isOpen) connection.onChanged();
      });
    }
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
    const isConnected = (): boolean => connection.isOpen && !this.#away.has(connection.machine);
    return {
      get isConnected() {
        return isConnected();
      },
      send: (name, text) => {
        if (!isConnected()) return false;
        const target = this.#connections.get(name);
        this.send(connection, target, { name, text }, () => {
          if (target?.isOpen && !this.#away.has(target.machine)) target.listener(text);
        });
        return true;
      },
      close: async () => {
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
