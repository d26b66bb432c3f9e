import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import type { Bus, BusConnection, BusListener } from "./bus.ts";

/**
 * A bus for members in one process. Nothing is lost and the order is kept; and as on any other bus no message is
 * delivered while it is being sent, so that a sender is never called back in the middle of what it does.
 */
export class InProcessBus implements Bus {
  readonly kind = "in-process";
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Map<string, Set<BusListener>>();
  #underWay: { to: string; text: string }[] = [];

  constructor(options: { clock: Clock; logger?: Logger }) {
    this.#clock = options.clock;
    this.#logger = options.logger ?? silentLogger;
  }

  connect(address: string, listener: BusListener): BusConnection {
    // One of its own for each connection: the same function may listen twice.
    const own: BusListener = (text) => listener(text);
    let isOpen = true;
    this.#add(address, own);
    return {
      get isConnected() {
        return isOpen;
      },
      send: (to, text) => {
        if (isOpen) this.#send(to, text);
        return isOpen;
      },
      close: async () => {
        isOpen = false;
        this.#remove(address, own);
      },
    };
  }

  #add(address: string, listener: BusListener): void {
    const listeners = this.#listeners.get(address);
    if (listeners === undefined) this.#listeners.set(address, new Set([listener]));
    else listeners.add(listener);
  }

  #remove(address: string, listener: BusListener): void {
    const listeners = this.#listeners.get(address);
    if (listeners?.delete(listener) === true && listeners.size === 0) this.#listeners.delete(address);
  }

  /** Messages that are sent together are delivered together, in their order. */
  #send(to: string, text: string): void {
    this.#underWay.push({ to, text });
    if (this.#underWay.length === 1) this.#clock.soon(() => this.#deliver());
  }

  #deliver(): void {
    const arrived = this.#underWay;
    this.#underWay = [];
    for (const { to, text } of arrived) {
      for (const listener of this.#listenersAt(to)) {
        // An earlier listener may have closed this connection.
        if (this.#listeners.get(to)?.has(listener) === true) this.#tell(listener, { to, text });
      }
    }
  }

  /** Copies the listeners: one that connects while a message is delivered gets only later messages. */
  #listenersAt(address: string): BusListener[] {
    return [...(this.#listeners.get(address) ?? [])];
  }

  #tell(listener: BusListener, message: { to: string; text: string }): void {
    try {
      listener(message.text);
    } catch (error) {
      this.#logger.error({ to: message.to, error: messageOf(error) }, "a listener on the bus threw");
    }
  }
}
