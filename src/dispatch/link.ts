import type { EngineError } from "../base/error.ts";

/**
 * Carries texts between a worker and the member it is connected to. In good times nothing is lost; but a text may be lost,
 * doubled or late, and both ends must be right all the same.
 */
export interface Link {
  /** Never throws: what cannot be sent is lost. */
  send(text: string): void;
  /** Nothing is sent or heard any more. If an error is given, the other end should be told its code and message. */
  close(error?: EngineError): void;
}

/** What comes in over a link; given to whoever made the link. */
export interface LinkListener {
  receive(text: string): void;
  /** The other end closed it, or it broke. `reason` is what the other end said about it. */
  onClosed(reason?: string): void;
}
