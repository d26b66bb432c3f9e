import { closeCodes, type SocketClient } from "./socket-client.ts";

const beatMs = 30_000;
const goodbyeMs = 2000;

/** All open sockets. */
export class SocketClients {
  /** Clients, each with a re-check of its token. */
  readonly #clients = new Map<SocketClient, () => boolean>();
  readonly #beat = setInterval(() => this.#beatAll(), beatMs);

  get size(): number {
    return this.#clients.size;
  }

  add(client: SocketClient, isLetIn: () => boolean): void {
    this.#clients.set(client, isLetIn);
  }

  delete(client: SocketClient): void {
    this.#clients.delete(client);
  }

  /** Closes all sockets, and destroys those that do not answer. */
  stop(): void {
    clearInterval(this.#beat);
    for (const client of this.#clients.keys()) {
      client.close(closeCodes.stopping, "the server is stopping; reconnect with your cursor");
    }
    setTimeout(() => {
      for (const client of this.#clients.keys()) client.cut();
    }, goodbyeMs).unref();
  }

  #beatAll(): void {
    for (const [client, isLetIn] of this.#clients) {
      if (isLetIn()) client.beat();
      else client.close(closeCodes.notLetIn, "the token is no longer valid");
    }
  }
}
