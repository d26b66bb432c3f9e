import type { Bus, BusConnection, BusListener, BusParts } from "../../../src/cluster/bus.ts";
import { type Logger, silentLogger } from "../../../src/base/logger.ts";
import { systemClock } from "../../../src/engine/system-clock.ts";
import { SystemRandom } from "../../../src/engine/system-random.ts";
import { until } from "../../support/until.ts";
import type { Subject } from "./subject.ts";

export const busParts: BusParts = { clock: systemClock, random: new SystemRandom(), logger: silentLogger };

/** Parts with a log in which failed attempts to connect are counted. */
export function countingParts(): BusParts & { readonly failedAttempts: () => number } {
  let failed = 0;
  const count = (_fields: object, message: string): void => {
    if (message.startsWith("the bus cannot be reached")) failed++;
  };
  const logger: Logger = { ...silentLogger, warn: count, debug: count };
  return { ...busParts, logger, failedAttempts: () => failed };
}

/** Begins a text that only says that everything before it has arrived. */
const marker = "\u0001settled ";

/** An answer to an answer takes three ways. */
const rounds = 3;

interface OpenConnection {
  readonly address: string;
  readonly connection: BusConnection;
}

/** A bus whose connections are known, so that one can wait until all of them have heard what the others sent. */
class MarkedBus implements Bus {
  readonly #bus: Bus;
  readonly #open = new Set<OpenConnection>();
  readonly #arrived = new Set<string>();
  #markers = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  get kind(): string {
    return this.#bus.kind;
  }

  connect(address: string, listener: BusListener, onChanged?: () => void): BusConnection {
    const hear = (text: string): void => {
      if (text.startsWith(marker)) this.#arrived.add(text);
      else listener(text);
    };
    const connection = this.#bus.connect(address, hear, onChanged);
    const open = { address, connection };
    this.#open.add(open);
    return {
      get isConnected() {
        return connection.isConnected;
      },
      send: (to, text) => connection.send(to, text),
      close: async () => {
        this.#open.delete(open);
        await connection.close();
      },
    };
  }

  get connections(): readonly OpenConnection[] {
    return [...this.#open];
  }

  /** Messages between two connections arrive in order, so the marker is the last. */
  async mark(from: BusConnection, to: string): Promise<void> {
    const text = `${marker}${this.kind} ${++this.#markers} ${Math.random()}`;
    await until(() => from.send(to, text), { everyMs: 1 });
    await until(() => this.#arrived.has(text), { everyMs: 1 });
  }
}

/** Joins clients of a real server to one subject. */
export function networkSubject(clients: { bus: Bus; other: Bus; foreign: Bus }, close: () => Promise<void>): Subject {
  const shared = new Map<Bus, MarkedBus>();
  const marked = (bus: Bus): MarkedBus => {
    const known = shared.get(bus) ?? new MarkedBus(bus);
    shared.set(bus, known);
    return known;
  };
  const [bus, other, foreign] = [marked(clients.bus), marked(clients.other), marked(clients.foreign)];
  const settleOnce = async (cluster: readonly MarkedBus[]): Promise<void> => {
    const all = cluster.flatMap((each) => each.connections.map((open) => ({ ...open, by: each })));
    await until(() => all.every(({ connection }) => connection.isConnected), { everyMs: 1 });
    await Promise.all(all.flatMap(({ connection }) => all.map(({ address, by }) => by.mark(connection, address))));
  };
  const settle = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await settleOnce([bus, other]);
      await settleOnce([foreign]);
    }
  };
  return { bus, other, foreign, settle, close };
}
