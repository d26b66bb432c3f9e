import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** One address in front of several servers, as a load balancer has it: each connection goes to the next of them. */
export class Balancer {
  readonly #server: Server;
  readonly #targets: URL[];
  readonly #sockets = new Set<Socket>();
  /** How many connections each target has had. */
  readonly counts = new Map<string, number>();
  /** The target of the newest WebSocket. */
  socketTarget = "";
  #next = 0;

  private constructor(urls: readonly string[]) {
    this.#targets = urls.map((url) => new URL(url));
    this.#server = createServer((client) => this.#accept(client));
  }

  static async before(urls: readonly string[]): Promise<Balancer> {
    const balancer = new Balancer(urls);
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Health checks have found a target dead. */
  remove(url: string): void {
    const place = this.#targets.findIndex((target) => target.origin === new URL(url).origin);
    if (place >= 0) this.#targets.splice(place, 1);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #accept(client: Socket): void {
    const target = this.#targets[this.#next++ % this.#targets.length];
    if (target === undefined) {
      client.destroy();
      return;
    }
    this.counts.set(target.origin, (this.counts.get(target.origin) ?? 0) + 1);
    client.once("data", (first) => {
      if (first.toString("latin1").startsWith("GET /ws")) this.socketTarget = target.origin;
    });
    const server = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
