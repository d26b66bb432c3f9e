import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { HistoryRow, TurnText } from "./store.ts";
import { appendTurn, turnsIn } from "./turn-text.ts";

function turnOf(turn: number, events: string): HistoryRow {
  return { instance: 7, turn, firstEvent: turn * 2, at: 1_000 + turn, events };
}

function textOf(turns: readonly HistoryRow[]): TurnText {
  let text: TurnText | null = null;
  for (const turn of turns) text = appendTurn(text, turn);
  assert.ok(text !== null);
  return text;
}

suite("the turns of a small history in one text", () => {
  test("is a JSON array of turns", () => {
    const text = textOf([turnOf(0, '[{"type":"A"}]'), turnOf(1, '[{"type":"B"}]')]);
    assert.equal(text, '[[0,0,1000,14,[{"type":"A"}]],[1,2,1001,14,[{"type":"B"}]]]');
    assert.deepEqual(JSON.parse(text), [
      [0, 0, 1000, 14, [{ type: "A" }]],
      [1, 2, 1001, 14, [{ type: "B" }]],
    ]);
  });

  test("keeps a time between two milliseconds", () => {
    const turns = [
      { ...turnOf(0, "[]"), at: 1767614407214.4893 },
      { ...turnOf(1, "[]"), at: -0.5 },
    ];
    assert.deepEqual(turnsIn(textOf(turns), 7), turns);
  });

  test("gives back every turn as it was written", () => {
    const odd = [
      "",
      "]",
      "]]",
      "],[",
      "[1,2,3,4,",
      "\n",
      "\r\n",
      "\u2028",
      "\u2029",
      "\u0000",
      "\ud800",
      "\ufdd0",
      "😀",
      "\\",
      '"',
    ];
    for (const events of odd) {
      const turns = [turnOf(3, events), turnOf(4, `${events}x`), turnOf(5, events)];
      assert.deepEqual(turnsIn(textOf(turns), 7), turns);
      assert.deepEqual(turnsIn(textOf(turns.slice(0, 1)), 7), turns.slice(0, 1));
    }
  });

  test("a time before 1970 comes back", () => {
    const turn = { ...turnOf(0, "[]"), at: -5 };
    assert.deepEqual(turnsIn(appendTurn(null, turn), 7), [turn]);
  });

  test("STORE_CORRUPT names the instance of a text that was altered", () => {
    const text = textOf([turnOf(0, '[{"type":"A"}]'), turnOf(1, "[]")]);
    const altered = [
      "",
      "[",
      "[]",
      "[[",
      "{}",
      text.slice(0, -1),
      text.slice(1),
      text.replace(",14,", ",13,"),
      `${text}]`,
      `${text},`,
    ];
    for (const each of altered) {
      assert.throws(
        () => turnsIn(each, 7),
        (error) => hasCode(error, "STORE_CORRUPT") && error.message.includes("instance 7"),
        each,
      );
    }
  });
});
