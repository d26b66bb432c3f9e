import { PassThrough } from "node:stream";
import type { FastifyReply } from "fastify";

const goodbyeMs = 2000;

/** Server-sent events: one answer that goes on until either side ends it. */
export class EventStream {
  readonly #reply: FastifyReply;
  readonly #stream = new PassThrough();
  readonly #onClosed: (() => void)[] = [];

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    reply.raw.on("close", () => this.#closed());
  }

  /** Bytes that have not left yet. */
  get bufferedBytes(): number {
    return this.#stream.writableLength + this.#stream.readableLength + this.#reply.raw.writableLength;
  }

  /** Sends the head, and what was written already. */
  open(): FastifyReply {
    this.#stream.write(": connected\n\n");
    // A proxy that gathers a page of events before it hands them on would make them stale.
    const headers = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };
    return this.#reply.headers(headers).send(this.#stream);
  }

  onClosed(listener: () => void): void {
    this.#onClosed.push(listener);
  }

  write(bytes: Buffer | string): void {
    if (!this.#stream.destroyed && !this.#stream.writableEnded) this.#stream.write(bytes);
  }

  /** Keeps the line open through proxies, and finds out that nobody is there. */
  beat(): void {
    this.write(": still here\n\n");
  }

  end(): void {
    this.#stream.end();
    // Whoever does not take the rest.
    setTimeout(() => this.#reply.raw.destroy(), goodbyeMs).unref();
  }

  #closed(): void {
    this.#stream.destroy();
    for (const listener of this.#onClosed.splice(0)) listener();
  }
}

/** One event. JSON has no line ends of its own, so the data is one line. */
export function eventText(event: { readonly name: string; readonly id?: string; readonly data: string }): string {
  const id = event.id === undefined ? "" : `id: ${event.id}\n`;
  return `event: ${event.name}\n${id}data: ${event.data}\n\n`;
}
