import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What passes between the two ends: requests go to the server, answers to the client. */
export type Way = "requests" | "answers";

/**
 * A network between clients and a database server, on the loopback interface, that goes wrong as networks do: it cuts,
 * refuses, stalls and delays, and loses the answer to what the server has carried out.
 */
export class Proxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #wires = new Set<Wire>();
  readonly #held = new Set<Way>();
  #delayMs = 0;
  #port = 0;
  #loss: (() => void) | undefined;
  #half: { readonly bytes: string; readonly onHeld: () => void } | undefined;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** To the server at that address. */
  static async to(url: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(url));
    await proxy.#listen();
    return proxy;
  }

  /** The server's address, by way of this proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }

  get connectionCount(): number {
    return this.#wires.size;
  }

  /** All connections break at once, also those that are stalled. What was on its way is lost. */
  cut(): void {
    for (const wire of this.#wires) wire.cut();
  }

  /** Nobody listens any more. Connections that are there stay. */
  refuse(): void {
    if (this.#server.listening) this.#server.close();
  }

  /** Listens again, where it did. */
  async accept(): Promise<void> {
    if (!this.#server.listening) await this.#listen();
  }

  /** Nothing passes, of any connection, until it is let go: it waits, as if the network stood still. */
  hold(...ways: readonly Way[]): void {
    for (const way of ways) this.#held.add(way);
  }

  /** What was held passes now, in order. */
  letGo(): void {
    this.#held.clear();
    for (const wire of this.#wires) wire.letGo();
  }

  /** Each piece takes so long from now on. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /**
   * The next answer to anybody is lost: once the server has said something, its connection is cut, and nobody has heard
   * it. Resolves when that has happened.
   */
  loseAnswer(): Promise<void> {
    return new Promise((resolve) => (this.#loss = resolve));
  }

  /**
   * The next piece of a request that has these bytes in it passes by half, and nothing after it on that connection.
   * Resolves when that has happened.
   */
  holdHalfOf(bytes: string): Promise<void> {
    return new Promise((resolve) => (this.#half = { bytes, onHeld: resolve }));
  }

  async close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, "close") : undefined;
    this.#server.close();
    this.cut();
    await closed;
  }

  /** On the same port each time; somebody else's passing connection may have it for a moment. */
  async #listen(): Promise<void> {
    for (const end = performance.now() + 10_000; ; await sleep(50)) {
      try {
        this.#server.listen(this.#port, "127.0.0.1");
        await once(this.#server, "listening");
        break;
      } catch (error) {
        if (performance.now() > end) throw error;
      }
    }
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #accept(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    const wire = new Wire(client, server, {
      isHeld: (way) => this.#held.has(way),
      delayMs: () => this.#delayMs,
      isLost: () => this.#takeLoss(),
      isHalved: (request) => this.#takeHalf(request),
      onEnd: () => this.#wires.delete(wire),
    });
    this.#wires.add(wire);
  }

  #takeLoss(): boolean {
    const loss = this.#loss;
    this.#loss = undefined;
    loss?.();
    return loss !== undefined;
  }

  #takeHalf(request: Buffer): boolean {
    if (this.#half === undefined || !request.includes(this.#half.bytes)) return false;
    this.#half.onHeld();
    this.#half = undefined;
    return true;
  }
}

interface Conditions {
  isHeld(way: Way): boolean;
  delayMs(): number;
  /** Whether this answer is the one that nobody hears. */
  isLost(): boolean;
  /** Whether this request is the one that passes by half. */
  isHalved(request: Buffer): boolean;
  onEnd(): void;
}

/** One connection, which is two: of the client to the proxy, and of the proxy to the server. */
class Wire {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests: Channel;
  readonly #answers: Channel;
  readonly #conditions: Conditions;

  constructor(client: Socket, server: Socket, conditions: Conditions) {
    this.#client = client;
    this.#server = server;
    this.#conditions = conditions;
    this.#requests = new Channel(server, "requests", conditions);
    this.#answers = new Channel(client, "answers", conditions);
    for (const socket of [client, server]) socket.setNoDelay(true);
    client.on("data", (piece) => this.#onRequest(piece));
    server.on("data", (piece) => this.#onAnswer(piece));
    // The end of one side is news that travels like any other.
    client.on("end", () => this.#requests.push("end")).on("error", () => this.#requests.push("break"));
    server.on("end", () => this.#answers.push("end")).on("error", () => this.#answers.push("break"));
    for (const socket of [client, server]) {
      socket.on("close", () => client.closed && server.closed && conditions.onEnd());
    }
  }

  cut(): void {
    breakOff(this.#client);
    breakOff(this.#server);
  }

  letGo(): void {
    this.#requests.letGo();
    this.#answers.letGo();
  }

  #onRequest(piece: Buffer): void {
    if (!this.#conditions.isHalved(piece)) return this.#requests.push(piece);
    const half = Math.floor(piece.length / 2);
    this.#requests.push(piece.subarray(0, half));
    this.#requests.block();
    this.#requests.push(piece.subarray(half));
  }

  #onAnswer(piece: Buffer): void {
    if (this.#conditions.isLost()) this.cut();
    else this.#answers.push(piece);
  }
}

/** One way of one connection: pieces leave in the order they came, when they may. */
class Channel {
  readonly #to: Socket;
  readonly #way: Way;
  readonly #conditions: Conditions;
  readonly #queue: { readonly piece: Buffer | "end" | "break"; readonly dueAt: number }[] = [];
  #isBlocked = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(to: Socket, way: Way, conditions: Conditions) {
    this.#to = to;
    this.#way = way;
    this.#conditions = conditions;
  }

  push(piece: Buffer | "end" | "break"): void {
    this.#queue.push({ piece, dueAt: performance.now() + this.#conditions.delayMs() });
    this.#pass();
  }

  /** From here on nothing passes until it is let go. */
  block(): void {
    this.#isBlocked = true;
  }

  letGo(): void {
    this.#isBlocked = false;
    this.#pass();
  }

  #pass(): void {
    clearTimeout(this.#timer);
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if (this.#isBlocked || this.#conditions.isHeld(this.#way)) return;
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#pass(), waitMs);
        return;
      }
      this.#queue.shift();
      if (this.#to.destroyed) continue;
      if (next.piece === "end") this.#to.end();
      else if (next.piece === "break") breakOff(this.#to);
      else this.#to.write(next.piece);
    }
  }
}

/** As if the other side had vanished. One that is saying goodbye is only closed: reset, it would keep its process from ending. */
function breakOff(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
