import * as mysql2 from "mysql2";
import { assert } from "../../src/base/assert.ts";
import { lastKeyOf } from "../../src/stores/instance-key.ts";
import { parseAddress } from "../../src/stores/mysql/address.ts";
import { Connection, type Result } from "../../src/stores/mysql/connection.ts";
import { sessionSettings } from "../../src/stores/mysql/database.ts";
import { list, whole } from "../../src/stores/mysql/literal.ts";
import { settings, transaction } from "../../src/stores/mysql/script.ts";
import { packetBytes } from "../../src/stores/mysql/server.ts";
import { statements } from "../../src/stores/mysql/statement.ts";
import { writeChanges } from "../../src/stores/mysql/write-changes.ts";
import { writeFences } from "../../src/stores/mysql/write-fences.ts";
import type { Batch } from "../../src/stores/store.ts";
import type { BareDriver, Read } from "./bench-storage.ts";
import { ownShards } from "./own-shards.ts";

const limitMs = 60_000;

/** Connections as the store sets them up. The text of what it would send is made beforehand. */
export class MysqlDriver implements BareDriver {
  readonly epochs: ReadonlyMap<number, number>;
  readonly #connections: readonly Connection[];
  readonly #idle: Connection[];
  readonly #packetBytesMax: number;

  private constructor(connections: readonly Connection[], packetBytesMax: number, epochs: ReadonlyMap<number, number>) {
    this.epochs = epochs;
    this.#connections = connections;
    this.#idle = [...connections];
    this.#packetBytesMax = packetBytesMax;
  }

  static async open(address: string, use: { shards: Iterable<number>; atOnce: number }): Promise<MysqlDriver> {
    const epochs = await ownShards(address, use.shards);
    const connections: Connection[] = [];
    let allowed = 0;
    while (connections.length < use.atOnce) {
      const connection = await Connection.open(mysql2, parseAddress(address), limitMs);
      const results = await connection.send(`${sessionSettings};SELECT @@max_allowed_packet AS allowed`, limitMs);
      allowed = lastNumber(results, "allowed");
      connections.push(connection);
    }
    return new MysqlDriver(connections, packetBytes(allowed), epochs);
  }

  readyRead(read: Read): () => Promise<Result[]> {
    const query =
      read.name === "listUnfinished"
        ? statements
            .get("list-unfinished-by-shard")
            .with(whole(read.after), whole(lastKeyOf(read.shard)), whole(read.limit))
        : statements.get("load-history").with(list(read.instances.map(whole)));
    return this.#ready([`${settings};${query}`]);
  }

  readyCommit({ fences, changes }: Batch): () => Promise<Result[]> {
    return this.#ready(transaction(writeFences(fences), writeChanges(changes), this.#packetBytesMax));
  }

  async lastBatch(shard: number): Promise<number> {
    const query = statements.get("load-standings").with(list([whole(shard)]));
    return lastNumber(await this.#send([`${settings};${query}`]), "lastBatch");
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) await connection.end();
  }

  #ready(packets: readonly string[]): () => Promise<Result[]> {
    return async () => await this.#send(packets);
  }

  /** Gives what the last one gave. */
  async #send(packets: readonly string[]): Promise<Result[]> {
    const connection = this.#idle.pop();
    assert(connection !== undefined, "no more is under way at once than was said");
    let results: Result[] = [];
    for (const packet of packets) results = await connection.send(packet, limitMs);
    this.#idle.push(connection);
    return results;
  }
}

/** In the only row that the last statement gave. */
function lastNumber(results: readonly Result[], column: string): number {
  const rows = results.at(-1);
  return Array.isArray(rows) ? Number(rows[0]?.[column]) : Number.NaN;
}
