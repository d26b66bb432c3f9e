/**
 * Carries short texts between members, fast and without any promise: a message may be lost, doubled, late or out of
 * order. Whatever matters is in the store, so a bus that is away makes members slower and never wrong.
 */
export interface Bus {
  /** Delivers messages to that address to the listener from now on. */
  connect(address: string, listener: BusListener): BusConnection;
}

export type BusListener = (text: string) => void;

export interface BusConnection {
  send(to: string, text: string): void;
  /** Stops the delivery of messages to the listener. */
  close(): void;
}

/** Maximum length of a text on the bus; longer ones go through the store. */
export const busTextLengthMax = 256 * 1024;
