import { EngineError } from "../../base/error.ts";
import type { Address } from "../sql/address.ts";
import type { Connection } from "./connection.ts";

/** Facts of a suitable server that the store depends on. */
export interface Server {
  /** Collation that compares text byte by byte, without padding. */
  readonly collation: string;
  /** Maximum size of a packet. */
  readonly packetBytesMax: number;
}

interface Kind {
  readonly name: string;
  readonly collation: string;
  readonly versionMin: readonly [major: number, minor: number, patch: number];
  /** Values of `innodb_flush_log_at_trx_commit` with which a commit is durable when it returns. */
  readonly flushModes: readonly string[];
}

const mariadb: Kind = {
  name: "MariaDB",
  collation: "utf8mb4_nopad_bin",
  versionMin: [10, 6, 0],
  flushModes: ["1", "3"],
};

const mysql: Kind = { name: "MySQL", collation: "utf8mb4_0900_bin", versionMin: [8, 0, 17], flushModes: ["1"] };

/** Keys of the schema need pages of at least this size. */
const pageBytesMin = 16_384;

/** Part of a packet that is reserved for its header and additions of a proxy. */
const packetBytesReserved = 1024;

/** The server's settings that tell whether it is suitable, by name. */
export type Facts = ReadonlyMap<string, string>;

const names = [
  "version",
  "innodb_flush_log_at_trx_commit",
  "innodb_page_size",
  "innodb_read_only",
  "log_bin",
  "sync_binlog",
  "binlog_format",
  "read_only",
  "max_allowed_packet",
];

export async function readFacts(connection: Connection, limitMs: number): Promise<Facts> {
  const wanted = names.map((name) => `'${name}'`).join();
  const ask = `SET sql_select_limit = DEFAULT;SHOW GLOBAL VARIABLES WHERE Variable_name IN (${wanted})`;
  const [, rows] = await connection.send(ask, limitMs);
  return new Map((Array.isArray(rows) ? rows : []).map((row) => [String(row["Variable_name"]), String(row["Value"])]));
}

/** Refuses a server that is too old, is read-only, or would lose acknowledged commits. */
export function suitableServer(facts: Facts, { place }: Address): Server {
  const version = facts.get("version") ?? "";
  const kind = version.includes("MariaDB") ? mariadb : mysql;
  const unsuitable = (found: string, advice: string): EngineError =>
    new EngineError("STORE_UNSUITABLE", `the server of the database ${place} ${found}; ${advice}`);

  if (isBelow(version, kind.versionMin)) {
    throw unsuitable(`is ${kind.name} ${version}`, `use ${kind.name} ${kind.versionMin.join(".")} or newer`);
  }
  if (!facts.has("innodb_flush_log_at_trx_commit")) throw unsuitable("has no InnoDB", "start it with that engine");
  if (isOn(facts, "read_only") || isOn(facts, "innodb_read_only")) {
    throw new EngineError(
      "STORE_READ_ONLY",
      `the server of the database ${place} takes no writes; give the URL of one that does, or turn read_only off`,
    );
  }
  const flushMode = facts.get("innodb_flush_log_at_trx_commit") ?? "";
  if (!kind.flushModes.includes(flushMode)) {
    throw unsuitable(
      `has innodb_flush_log_at_trx_commit = ${flushMode} and would lose finished work in a crash`,
      "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and the same in its configuration",
    );
  }
  if (isOn(facts, "log_bin")) checkLog(facts, unsuitable);
  if (Number(facts.get("innodb_page_size")) < pageBytesMin) {
    throw unsuitable(`has pages of ${facts.get("innodb_page_size")} bytes`, `use one with ${pageBytesMin} or more`);
  }
  return {
    collation: kind.collation,
    packetBytesMax: packetBytes(Number(facts.get("max_allowed_packet"))),
  };
}

/** Maximum size of our part of a packet. */
export function packetBytes(allowed: number): number {
  return allowed - packetBytesReserved;
}

/** After a crash, a server with a binary log recovers its tables to match that log, so the log must be durable too. */
function checkLog(facts: Facts, unsuitable: (found: string, advice: string) => EngineError): void {
  if (facts.get("sync_binlog") !== "1") {
    throw unsuitable(
      `has a binary log with sync_binlog = ${facts.get("sync_binlog")} and would lose finished work in a crash`,
      "SET GLOBAL sync_binlog = 1, and the same in its configuration",
    );
  }
  // This format does not allow READ COMMITTED. Servers that lack it have no such setting.
  if (facts.get("binlog_format") === "STATEMENT") {
    throw unsuitable(
      "has binlog_format = STATEMENT",
      "SET GLOBAL binlog_format = 'ROW', and the same in its configuration",
    );
  }
}

function isOn(facts: Facts, name: string): boolean {
  return !["OFF", "0", undefined].includes(facts.get(name));
}

function isBelow(version: string, min: readonly number[]): boolean {
  const numbers = version.split(/[.-]/, min.length).map(Number);
  const at = min.findIndex((number, index) => number !== numbers[index]);
  return at !== -1 && !((numbers[at] ?? 0) > (min[at] ?? 0));
}
