import type { TestContext } from "node:test";

interface Metadata {
  set(name: string, value: string): void;
}

interface Failure extends Error {
  readonly code: number;
  readonly details: string;
}

interface Stream {
  on(event: "data", listener: (bytes: Buffer) => void): void;
  on(event: "error", listener: (error: Failure) => void): void;
  cancel(): void;
}

type Convert = (bytes: Buffer) => Buffer;
type Given = [path: string, toBytes: Convert, fromBytes: Convert, bytes: Buffer, metadata: Metadata];

interface Client {
  makeUnaryRequest(...given: [...Given, onAnswer: (error: Failure | null, bytes?: Buffer) => void]): void;
  makeServerStreamRequest(...given: Given): Stream;
  close(): void;
}

interface Grpc {
  readonly Client: new (address: string, credentials: object) => Client;
  readonly Metadata: new () => Metadata;
  readonly credentials: { createInsecure(): object };
}

const same: Convert = (bytes) => bytes;

/** Calls of the Durable Task service as bytes, which no SDK keeps from being wrong. */
export class RawClient {
  readonly #grpc: Grpc;
  readonly #client: Client;

  private constructor(grpc: Grpc, port: number) {
    this.#grpc = grpc;
    this.#client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  }

  static async connect(t: TestContext, port: number): Promise<RawClient> {
    // Its types do not hold without `skipLibCheck`.
    const name: string = "@grpc/grpc-js";
    const raw = new RawClient(((await import(name)) as { readonly default: Grpc }).default, port);
    t.after(() => raw.#client.close());
    return raw;
  }

  /** The answer, or the status and message of a refusal. */
  async call(method: string, bytes: Buffer, token?: string): Promise<Buffer | { code: number; details: string }> {
    return await new Promise((resolve) => {
      this.#client.makeUnaryRequest(pathOf(method), same, same, bytes, this.#metadata(token), (error, answer) => {
        if (error === null) resolve(answer ?? Buffer.alloc(0));
        else resolve({ code: error.code, details: error.details });
      });
    });
  }

  /** Opens a stream. Its end by an error is not reported: tests cancel it. */
  open(
    t: TestContext,
    method: string,
    { bytes, token, headers = {} }: { bytes: Buffer; token?: string; headers?: Readonly<Record<string, string>> },
  ): Buffer[] {
    const metadata = this.#metadata(token);
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const stream = this.#client.makeServerStreamRequest(pathOf(method), same, same, bytes, metadata);
    const received: Buffer[] = [];
    stream.on("data", (item) => void received.push(item));
    stream.on("error", () => undefined);
    t.after(() => stream.cancel());
    return received;
  }

  #metadata(token: string | undefined): Metadata {
    const metadata = new this.#grpc.Metadata();
    if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
    return metadata;
  }
}

function pathOf(method: string): string {
  return `/TaskHubSidecarService/${method}`;
}
