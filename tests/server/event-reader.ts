/** A client of server-sent events that keeps all it hears. */
export interface HeardEvent {
  readonly name: string;
  readonly id: string;
  readonly data: unknown;
}

export class EventReader {
  readonly events: HeardEvent[] = [];
  readonly #end = new AbortController();

  /** Resolves when the stream has begun. */
  static async open(url: string): Promise<EventReader> {
    const reader = new EventReader();
    const answer = await fetch(url, { signal: reader.#end.signal });
    if (answer.status !== 200 || answer.body === null)
      throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    void reader.#read(answer.body);
    return reader;
  }

  of(name: string): unknown[] {
    return this.events.filter((event) => event.name === name).map(({ data }) => data);
  }

  close(): void {
    this.#end.abort();
  }

  /** The server may be killed, which ends the stream. */
  async #read(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    let rest = "";
    try {
      for await (const text of body.pipeThrough(new TextDecoderStream())) {
        const parts = (rest + text).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) this.#hear(part);
      }
    } catch {
      // Nothing more comes.
    }
  }

  #hear(part: string): void {
    const fieldOf = (name: string): string =>
      part
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2) ?? "";
    const name = fieldOf("event");
    if (name !== "") this.events.push({ name, id: fieldOf("id"), data: JSON.parse(fieldOf("data")) });
  }
}
