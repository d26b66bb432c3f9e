import type { EngineError } from "../base/error.ts";

/**
 * Carries texts between a worker and the member it is connected to. Texts may be lost, duplicated or late; both ends must
 * tolerate that.
 */
export interface Link {
  /** Never throws: a text that cannot be sent is lost. */
  send(text: string): void;
  /** Bytes that were given to `send` and have not left this process, because the other end reads slowly. Default 0. */
  readonly bufferedBytes?: number;
  /** Ends sending and receiving. If an error is given, its code and message should be sent to the other end. */
  close(error?: EngineError): void;
}

/** Receives what comes in over a link. */
export interface LinkListener {
  receive(text: string): void;
  /** Called when the other end has closed the link, or it broke. `reason` is the other end's. */
  onClosed(reason?: string): void;
}
