import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { oneLine, tableText, widthOf } from "./table.ts";

describe("a table", () => {
  test("has columns as wide as their widest cell, and colours that take no room", () => {
    const columns = [
      { title: "name", text: (row: { name: string; size: number }) => row.name },
      { title: "size", text: (row: { size: number }) => String(row.size), right: true },
      { title: "end", text: () => "x", paint: (_row: unknown, text: string) => `<${text}>` },
    ];
    const rows = [
      { name: "short", size: 5 },
      { name: "rather long", size: 12_000 },
    ];
    assert.equal(
      tableText(columns, rows),
      ["NAME          SIZE  END", "short            5  <x>", "rather long  12000  <x>"].join("\n"),
    );
  });

  test("does not let what others wrote move the cursor", () => {
    assert.equal(oneLine("a\u001B[2Jb\r\nc\u009Bd"), "a [2Jb c d");
  });

  test("counts cells, not characters", () => {
    assert.deepEqual(["abc", "数据", "e\u0301", "✅"].map(widthOf), [3, 4, 1, 2]);
  });
});
