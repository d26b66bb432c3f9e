import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";

/**
 * Carries short texts between members, fast and without any promise: a message may be lost, doubled, late or out of
 * order. Whatever matters is in the store, so a bus that is away makes members slower and never wrong.
 */
export interface Bus {
  /** The kind of bus in health, metrics and logs, such as `nats`. */
  readonly kind: string;
  /**
   * Prepares the bus for `connect`; a bus that needs no preparation leaves it out. `OPTION_INVALID` for settings that can
   * never work. A server that is away is no error.
   */
  open?(parts: BusParts): Promise<void>;
  /**
   * Delivers messages to that address to the listener from now on, or from the moment the bus is there. `onChanged` is
   * called after each change of `isConnected`.
   */
  connect(address: string, listener: BusListener, onChanged?: () => void): BusConnection;
}

/** The parts of a member that its bus uses. */
export interface BusParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Takes the messages that arrive for a member. */
export type BusListener = (text: string) => void;

/** The connection of one member to the bus. */
export interface BusConnection {
  /** False while the bus knows that it is away. */
  readonly isConnected: boolean;
  /** False if the bus does not take the message: it is away, has too much to send, or the text is too long for it. True promises nothing. */
  send(to: string, text: string): boolean;
  /** Stops the delivery of messages to the listener at once, and resolves when nothing is left open. Never rejects. */
  close(): Promise<void>;
}

/** Maximum length of a text on the bus; longer ones go through the store. In UTF-8 it stays below 1 MB, the limit of NATS. */
export const busTextLengthMax = 256 * 1024;
