import { HttpError } from "../request/http-error.ts";

export interface ConnectionLimits {
  /** Limit of all sockets and streams together. */
  readonly totalMax: number;
  /** Limit per token; without tokens, of all local users. */
  readonly perCallerMax: number;
}

const defaultLimits: ConnectionLimits = { totalMax: 10_000, perCallerMax: 2000 };

const retryAfterSeconds = 10;

/** Limits long-lived connections: sockets and event streams. */
export class ConnectionLimit {
  readonly #limits: ConnectionLimits;
  readonly #byCaller = new Map<string, number>();
  #total = 0;

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  get size(): number {
    return this.#total;
  }

  /** Counts a connection, and returns a function that releases it. `RATE_LIMITED` at the limit. */
  open(caller: string): () => void {
    this.#check(caller);
    this.#total++;
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#total--;
      const left = (this.#byCaller.get(caller) ?? 0) - 1;
      if (left > 0) this.#byCaller.set(caller, left);
      else this.#byCaller.delete(caller);
    };
  }

  #check(caller: string): void {
    const { totalMax, perCallerMax } = this.#limits;
    if (this.#total >= totalMax) throw tooMany(`the server holds ${totalMax} open connections, as many as it may`);
    if ((this.#byCaller.get(caller) ?? 0) >= perCallerMax) {
      throw tooMany(`"${caller}" holds ${perCallerMax} open connections, as many as it may`);
    }
  }
}

function tooMany(message: string): HttpError {
  return new HttpError("RATE_LIMITED", message, { retryAfterSeconds });
}
