import type { Bus, BusConnection, BusListener } from "../../src/cluster/bus.ts";
import type { SimRandom } from "./sim-random.ts";
import type { EventLog } from "./event-log.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";

/** How messages fare, while nothing worse is wrong with the pair they travel between. */
export interface NetworkConditions {
  readonly delayMs: number;
  readonly loss: number;
  readonly doubling: number;
  /** Of those that take a much longer way and are overtaken. */
  readonly straying: number;
}

export const calmNetwork: NetworkConditions = { delayMs: 1, loss: 0, doubling: 0, straying: 0 };

/** A process, where messages come from and go to. */
export interface Place {
  readonly machine: string;
  readonly owner: EventOwner;
}

/** Who is connected where. */
interface Connection extends Place {
  readonly listener: BusListener;
  isOpen: boolean;
}

/** What is between the machines of a run: it carries texts, as badly as the conditions says. The bus of the cluster is on it. */
export class Network {
  conditions: NetworkConditions = calmNetwork;
  readonly #scheduler: Scheduler;
  readonly #random: SimRandom;
  readonly #log: EventLog;
  readonly #connections = new Map<string, Connection>();
  /** `from>to`: nothing passes in that direction. */
  readonly #cuts = new Set<string>();

  constructor(parts: { scheduler: Scheduler; random: SimRandom; log: EventLog }) {
    this.#scheduler = parts.scheduler;
    this.#random = parts.random;
    this.#log = parts.log;
  }

  /** One life's way onto the bus. */
  busOf(machine: string, owner: EventOwner): Bus {
    return { connect: (address, listener) => this.#connect(address, { machine, owner, listener, isOpen: true }) };
  }

  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
  }

  /** `to` is undefined if nobody is there; `name` is what the sender calls it. */
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

  /** What is cut off when it should arrive is lost, like what is for the dead; the frozen read it when they thaw. */
  #carry(from: Place, to: Place, hear: () => void): void {
    const { delayMs, straying } = this.conditions;
    const strayMs = this.#random.isLucky(straying) ? this.#random.waitMs(100 * delayMs) : 0;
    this.#scheduler.after(this.#random.waitMs(delayMs) + strayMs, to.owner, () => {
      if (!this.#cuts.has(`${from.machine}>${to.machine}`)) hear();
    });
  }
}
