import type { Duplex } from "node:stream";
import { Client, Connection } from "pg";
import type { Submittable } from "pg";
import { assert } from "../../src/base/assert.ts";
import { lastKeyOf } from "../../src/stores/instance-key.ts";
import { bigints } from "../../src/stores/postgres/array-parameter.ts";
import { sessionSettings } from "../../src/stores/postgres/database.ts";
import { Pipeline, type Prepared, type BoundStatement } from "../../src/stores/postgres/pipeline.ts";
import { writeChanges } from "../../src/stores/postgres/write-changes.ts";
import { writeFences } from "../../src/stores/postgres/write-fences.ts";
import type { Batch } from "../../src/stores/store.ts";
import type { BareDriver, Read } from "./bench-storage.ts";
import { ownShards } from "./own-shards.ts";
import { loadStatements, type PostgresStatements } from "../../src/stores/postgres/postgres-statements.ts";

const schema = "heddle";
const limitMs = 60_000;

/** The bytes of what the store would send are made beforehand, so that sending is one write to one connection. */
export class PostgresDriver implements BareDriver {
  readonly epochs: ReadonlyMap<number, number>;
  readonly #clients: readonly Client[];
  readonly #idle: Client[];
  readonly #statements: PostgresStatements;
  readonly #prepared: Prepared;

  private constructor(clients: readonly Client[], statements: PostgresStatements, epochs: ReadonlyMap<number, number>) {
    this.epochs = epochs;
    this.#clients = clients;
    this.#idle = [...clients];
    this.#statements = statements;
    this.#prepared = new Map(statements.all().map(({ name }) => [name, []]));
  }

  static async open(address: string, use: { shards: Iterable<number>; atOnce: number }): Promise<PostgresDriver> {
    const epochs = await ownShards(address, use.shards);
    const statements = loadStatements();
    const clients: Client[] = [];
    while (clients.length < use.atOnce) clients.push(await connect(address, statements));
    return new PostgresDriver(clients, statements, epochs);
  }

  readyRead(read: Read): () => Promise<void> {
    const step: BoundStatement =
      read.name === "listUnfinished"
        ? {
            statement: this.#statements.get("list-unfinished-by-shard"),
            values: [read.after, lastKeyOf(read.shard), read.limit],
          }
        : { statement: this.#statements.get("load-history"), values: [bigints(read.instances, (key) => key)] };
    return this.#ready([step]);
  }

  readyCommit({ fences, changes }: Batch): () => Promise<void> {
    return this.#ready([...writeFences(this.#statements, fences), ...writeChanges(this.#statements, changes)]);
  }

  async lastBatch(shard: number): Promise<number> {
    const sql = "SELECT last_batch::int AS batch FROM shard WHERE shard = $1";
    const result = await this.#clients[0]?.query<{ batch: number }>(sql, [shard]);
    return result?.rows[0]?.batch ?? 0;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.end();
  }

  #ready(steps: readonly BoundStatement[]): () => Promise<void> {
    const bytes = this.#bytesOf(steps);
    return async () => {
      const client = this.#idle.pop();
      assert(client !== undefined, "no more is under way at once than was said");
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      client.query(new Ready(bytes, (error) => (error === undefined ? resolve() : reject(error))));
      await promise;
      this.#idle.push(client);
    };
  }

  /** What the store's own pipeline puts on the wire. */
  #bytesOf(steps: readonly BoundStatement[]): Buffer {
    const writes: Buffer[] = [];
    const stream = {
      writable: true,
      cork: () => undefined,
      uncork: () => undefined,
      write: (bytes: Buffer) => writes.push(bytes) > 0,
    };
    const wire = new Connection({ stream: () => stream as unknown as Duplex });
    new Pipeline(steps, this.#prepared, () => undefined).submit(wire);
    return Buffer.concat(writes);
  }
}

async function connect(address: string, statements: PostgresStatements): Promise<Client> {
  const client = new Client({ connectionString: address });
  await client.connect();
  await client.query(sessionSettings({ schema, name: "the bare ceiling", limitMs }));
  for (const { name, sql } of statements.all()) await client.query(`PREPARE "${name}" AS ${sql}`);
  return client;
}

/** Sends bytes and waits for the end of the answer; nothing is made of the rows. */
class Ready implements Submittable {
  readonly #bytes: Buffer;
  readonly #done: (error?: Error) => void;

  constructor(bytes: Buffer, done: (error?: Error) => void) {
    this.#bytes = bytes;
    this.#done = done;
  }

  submit({ stream }: Connection): void {
    stream.write(this.#bytes);
  }

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#done(error);
  }

  handleReadyForQuery(): void {
    this.#done();
  }
}
