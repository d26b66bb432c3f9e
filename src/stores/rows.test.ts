import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { Columns, toHistory, toInstance } from "./rows.ts";
import { toDisk } from "./text.ts";

const history = { instance: 7, turn: 3, firstEvent: 4, at: 5, events: "[]" };

describe("a damaged row", () => {
  test("is STORE_CORRUPT and names table, column, value and row, whichever column it is", () => {
    for (const column of Object.keys(history)) {
      for (const value of [null, undefined, new Uint8Array(2), column === "events" ? 1 : "1"]) {
        assert.throws(
          () => toHistory(new Columns({ ...history, [column]: value })),
          (error) =>
            hasCode(error, "STORE_CORRUPT") &&
            error.message.includes(`table history, column ${column} holds`) &&
            error.message.includes(column === "instance" ? "turn 3" : "instance 7") &&
            error.message.includes("restore it from a backup"),
        );
      }
    }
  });

  test("has a status that is one of the known words", () => {
    const row = { key: 1, id: "a", workflow: "w", version: "v", status: "Runnjng" };
    assert.throws(
      () => toInstance(new Columns(row)),
      (error) =>
        hasCode(error, "STORE_CORRUPT") && /status holds "Runnjng" instead of one of Ready, /.test(error.message),
    );
  });

  test("that led to a value which is no text is refused as data: nobody sends it again and again", () => {
    assert.throws(
      () => toDisk(undefined as unknown as string),
      (error) => hasCode(error, "STORE_DATA"),
    );
  });
});
