import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { hasCode } from "../../base/error.ts";
import { type Literal, row, sql, text, whole } from "./literal.ts";
import { rowsPerStatementMax, Script, settings, transaction } from "./script.ts";
import { statements } from "./statement.ts";

const rowsOf = (count: number, body = "x"): Literal[] =>
  Array.from({ length: count }, (_, ref) => row(whole(1), whole(ref), text(body)));

function scriptOf(rows: readonly Literal[]): Script {
  const script = new Script();
  script.add(statements.get("insert-payload"), rows);
  return script;
}

/** The references in the rows of a packet, in order. */
function refsIn(packets: readonly string[]): number[] {
  return packets.flatMap((packet) => [...packet.matchAll(/\(1,(\d+),/g)].map(([, ref]) => Number(ref)));
}

describe("a transaction", () => {
  test("is one packet that begins with the settings and ends with the commit", () => {
    const packets = transaction([sql`DO 1`], scriptOf(rowsOf(2)), 10_000);
    assert.deepEqual(packets, [
      `${settings};START TRANSACTION;DO 1;INSERT INTO heddle_payload (instance, ref, body)\nVALUES (1,0,'x'),(1,1,'x');COMMIT`,
    ]);
  });

  test("without rows is a transaction all the same", () => {
    assert.deepEqual(transaction([sql`DO 1`], scriptOf([]), 10_000), [`${settings};START TRANSACTION;DO 1;COMMIT`]);
  });

  test("has no statement with too many rows", () => {
    const [packet = ""] = transaction([], scriptOf(rowsOf(3 * rowsPerStatementMax)), 1e9);
    const statementsIn = packet.split("INSERT").slice(1);
    assert.deepEqual(
      statementsIn.map((each) => refsIn([each]).length),
      [rowsPerStatementMax, rowsPerStatementMax, rowsPerStatementMax],
    );
    assert.deepEqual(
      refsIn([packet]),
      Array.from({ length: 3 * rowsPerStatementMax }, (_, ref) => ref),
    );
  });

  test("that is too large is several packets: the fence first, and the commit at the end", () => {
    const packets = transaction([sql`DO 1`], scriptOf(rowsOf(10, "x".repeat(100))), 600);
    assert.match(packets[0] ?? "", /^SET NAMES .*;SET wait_timeout = \d+;START TRANSACTION;DO 1$/);
    assert.match(packets.at(-1) ?? "", /^SET NAMES .*;COMMIT;SET wait_timeout = \d+$/);
    assert.ok(packets.length > 4);
    for (const packet of packets) assert.ok(packet.startsWith(`${settings};`));
  });

  test("has every row once and in order, and no packet that is too large", () => {
    const bodies = fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 60 });
    fc.assert(
      fc.property(bodies, fc.integer({ min: 2_000, max: 6_000 }), (texts, bytesMax) => {
        const rows = texts.map((body, ref) => row(whole(1), whole(ref), text(body)));
        const packets = transaction([], scriptOf(rows), bytesMax);
        for (const packet of packets) assert.ok(Buffer.byteLength(packet) <= bytesMax);
        const script = packets.join(";").replaceAll(/;?SET NAMES[^;]*;/g, "");
        let from = 0;
        for (const one of rows) {
          from = script.indexOf(one, from);
          assert.notEqual(from, -1, "the row is there, after those before it");
          from += one.length;
        }
      }),
    );
  });

  test("with a row that fits into no packet can never be written", () => {
    const script = scriptOf([...rowsOf(3), ...rowsOf(1, "é".repeat(1_000))]);
    assert.throws(
      () => transaction([], script, 2_000),
      (error) => {
        assert.ok(hasCode(error, "STORE_DATA"));
        assert.match(
          error.message,
          /a row of 20\d\d bytes does not fit .*; raise the server's setting max_allowed_packet/,
        );
        return true;
      },
    );
    transaction([], script, 2_300);
  });
});
