import type { Bus, BusConnection, BusListener } from "../../src/cluster/bus.ts";
import type { Chance } from "./chance.ts";
import type { EventLog } from "./event-log.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";

/** How messages fare, while nothing worse is wrong with the pair they travel between. */
export interface NetworkWeather {
  readonly delayMs: number;
  readonly loss: number;
  readonly doubling: number;
  /** Of those that take a much longer way and are overtaken. */
  readonly straying: number;
}

export const calmNetwork: NetworkWeather = { delayMs: 1, loss: 0, doubling: 0, straying: 0 };

/** Who is connected where. */
interface Connection {
  readonly machine: string;
  readonly owner: EventOwner;
  readonly listener: BusListener;
  isOpen: boolean;
}

/** The bus of a simulated cluster: it carries texts between machines, as badly as the weather says. */
export class Network {
  weather: NetworkWeather = calmNetwork;
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #log: EventLog;
  readonly #connections = new Map<string, Connection>();
  /** `from>to`: nothing passes in that direction. */
  readonly #cuts = new Set<string>();

  constructor(parts: { scheduler: Scheduler; chance: Chance; log: EventLog }) {
    this.#scheduler = parts.scheduler;
    this.#chance = parts.chance;
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

  #connect(address: string, connection: Connection): BusConnection {
    this.#connections.set(address, connection);
    return {
      send: (to, text) => this.#send(connection, to, text),
      close: () => {
        connection.isOpen = false;
        if (this.#connections.get(address) === connection) this.#connections.delete(address);
      },
    };
  }

  #send(from: Connection, to: string, text: string): void {
    if (from.owner.isDead) return;
    const target = this.#connections.get(to);
    this.#log.note(`${from.machine} sends to ${to}: ${text.slice(0, 80)}`, text);
    if (target === undefined || this.#chance.isLucky(this.weather.loss)) return;
    this.#carry(from, target, text);
    if (this.#chance.isLucky(this.weather.doubling)) this.#carry(from, target, text);
  }

  /** What is cut off when it should arrive is lost, like what is for the dead; the frozen read it when they thaw. */
  #carry(from: Connection, target: Connection, text: string): void {
    const { delayMs, straying } = this.weather;
    const strayMs = this.#chance.isLucky(straying) ? this.#chance.waitMs(100 * delayMs) : 0;
    this.#scheduler.after(this.#chance.waitMs(delayMs) + strayMs, target.owner, () => {
      if (target.isOpen && !this.#cuts.has(`${from.machine}>${target.machine}`)) target.listener(text);
    });
  }
}
