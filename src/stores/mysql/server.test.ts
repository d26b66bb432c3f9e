import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error.ts";
import { parseAddress } from "./address.ts";
import { suitableServer } from "./server.ts";

const address = parseAddress("mysql://user:pa55-w0rd@example.org/orders");

const good = {
  version: "8.0.46-0ubuntu0.22.04.5",
  innodb_flush_log_at_trx_commit: "1",
  innodb_page_size: "16384",
  innodb_read_only: "OFF",
  log_bin: "ON",
  sync_binlog: "1",
  binlog_format: "ROW",
  read_only: "OFF",
  max_allowed_packet: "67108864",
};

function check(facts: Record<string, string>, without?: string): ReturnType<typeof suitableServer> {
  return suitableServer(new Map(Object.entries({ ...good, ...facts }).filter(([name]) => name !== without)), address);
}

function assertRefused(code: ErrorCode, words: RegExp, facts: Record<string, string>, without?: string): void {
  assert.throws(
    () => check(facts, without),
    (error) => {
      assert.ok(hasCode(error, code), String(error));
      assert.match(error.message, words);
      assert.match(error.message, /^the server of the database orders on example\.org:3306 [^\n]*[^.]$/);
      return true;
    },
  );
}

describe("a MySQL or MariaDB server", () => {
  test("is suitable, and says what differs", () => {
    assert.deepEqual(check({}), { collation: "utf8mb4_0900_bin", packetBytesMax: 67_108_864 - 1024 });
    const mariadb = { version: "10.11.19-MariaDB-0+deb12u1", log_bin: "OFF", sync_binlog: "0", binlog_format: "MIXED" };
    assert.equal(check(mariadb).collation, "utf8mb4_nopad_bin");
    assert.equal(check({ ...mariadb, innodb_flush_log_at_trx_commit: "3" }).collation, "utf8mb4_nopad_bin");
  });

  for (const version of [
    "8.0.17",
    "8.0.17-log",
    "8.4.0",
    "9.7.4",
    "10.6.0-MariaDB",
    "10.11.3-MariaDB-log",
    "11.8.9-MariaDB",
  ]) {
    test(`${version} is new enough`, () => void check({ version }));
  }

  for (const version of ["5.7.44", "8.0.16", "8.0.4-rc-log", "7.9.9", "10.5.29-MariaDB", "5.5.68-MariaDB", "what"]) {
    test(`${version} is too old`, () => {
      const words = version.includes("MariaDB") ? /use MariaDB 10\.6\.0 or newer/ : /use MySQL 8\.0\.17 or newer/;
      assertRefused("STORE_UNSUITABLE", words, { version });
    });
  }

  test("must not lose what it has acknowledged", () => {
    for (const mode of ["0", "2"]) {
      const words = /SET GLOBAL innodb_flush_log_at_trx_commit = 1/;
      assertRefused("STORE_UNSUITABLE", words, { innodb_flush_log_at_trx_commit: mode });
    }
    assertRefused("STORE_UNSUITABLE", /_commit = 3/, { innodb_flush_log_at_trx_commit: "3" });
    for (const sync of ["0", "100"]) {
      assertRefused("STORE_UNSUITABLE", /SET GLOBAL sync_binlog = 1/, { sync_binlog: sync });
      check({ sync_binlog: sync, log_bin: "OFF" });
    }
  });

  test("must have what the tables and commits need", () => {
    assertRefused("STORE_UNSUITABLE", /has no InnoDB/, {}, "innodb_flush_log_at_trx_commit");
    assertRefused("STORE_UNSUITABLE", /has pages of 8192 bytes; use one with 16384 or more/, {
      innodb_page_size: "8192",
    });
    assertRefused("STORE_UNSUITABLE", /SET GLOBAL binlog_format = 'ROW'/, { binlog_format: "STATEMENT" });
    check({}, "binlog_format");
  });

  test("must take writes", () => {
    assertRefused("STORE_READ_ONLY", /takes no writes/, { read_only: "ON" });
    assertRefused("STORE_READ_ONLY", /takes no writes/, { read_only: "NO_LOCK_NO_ADMIN" });
    assertRefused("STORE_READ_ONLY", /takes no writes/, { innodb_read_only: "ON" });
  });
});
