import type { InterfaceErrorCode, Refusal } from "../../api/envelope.ts";
import type { Caller } from "./caller.ts";

export interface HttpErrorOptions {
  readonly details?: Refusal["details"];
  /** Time after which a retry is worth trying. */
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The refused caller, if known. */
  readonly caller?: Caller;
}

/** A refusal of the interface itself; what the engine refuses is an `EngineError`. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: InterfaceErrorCode;
  readonly details: Refusal["details"];
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: Caller | undefined;

  constructor(code: InterfaceErrorCode, message: string, options: HttpErrorOptions = {}) {
    super(message);
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
    this.caller = options.caller;
  }
}
