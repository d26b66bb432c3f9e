import { PassThrough } from "node:stream";
import type { FastifyReply } from "fastify";

const goodbyeMs = 2000;

/** A stream of server-sent events. */
export class EventStream {
  readonly #reply: FastifyReply;
  readonly #stream = new PassThrough();
  readonly #onClosed: (() => void)[] = [];

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    reply.raw.on("close", () => this.#onClose());
  }

  /** Unsent bytes. */
  get bufferedBytes(): number {
    return this.#stream.writableLength + this.#stream.readableLength + this.#reply.raw.writableLength;
  }

  /** Sends the headers and everything written so far. */
  open(): FastifyReply {
    this.#stream.write(": connected\n\n");
    // Tells proxies not to buffer the stream.
    const headers = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };
    return this.#reply.headers(headers).send(this.#stream);
  }

  onClosed(listener: () => void): void {
    this.#onClosed.push(listener);
  }

  write(bytes: Buffer | string): void {
    if (!this.#stream.destroyed && !this.#stream.writableEnded) this.#stream.write(bytes);
  }

  /** Heartbeat: keeps the connection open through proxies, and detects a broken one. */
  beat(): void {
    this.write(": still here\n\n");
  }

  end(): void {
    this.#stream.end();
    // Destroys the connection of a client that does not read the rest.
    setTimeout(() => this.#reply.raw.destroy(), goodbyeMs).unref();
  }

  #onClose(): void {
    this.#stream.destroy();
    for (const listener of this.#onClosed.splice(0)) listener();
  }
}

/** Formats one event. JSON has no line ends, so the data is one line. */
export function eventText(event: { readonly name: string; readonly id?: string; readonly data: string }): string {
  const id = event.id === undefined ? "" : `id: ${event.id}\n`;
  return `event: ${event.name}\n${id}data: ${event.data}\n\n`;
}
