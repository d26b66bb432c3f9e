import type { Random } from "../base/random.ts";

/**
 * The servers of a cluster, of which a worker is connected to one at a time. Workers begin at any of them, so that many
 * spread over all, and go to the next one whenever a connection fails or ends.
 */
export class ServerList {
  readonly #urls: readonly string[];
  #next: number;

  constructor(urls: readonly string[], random: Pick<Random, "next">) {
    this.#urls = urls;
    this.#next = Math.floor(random.next() * urls.length);
  }

  /** The server for the next connection. */
  take(): string {
    const url = this.#urls[this.#next % this.#urls.length];
    this.#next++;
    return url as string;
  }
}
