import { HttpError } from "../request/http-error.ts";

export interface ConnectionLimits {
  /** All sockets and streams together. */
  readonly totalMax: number;
  /** Those of one token; without tokens, those of this machine. */
  readonly perCallerMax: number;
}

const defaultLimits: ConnectionLimits = { totalMax: 10_000, perCallerMax: 2000 };

const retryAfterSeconds = 10;

/** Counts the connections that stay open: sockets and streams of events. */
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

  /** Counts one more, and gives back how to count it off again. `RATE_LIMITED` if there are as many as there may be. */
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
