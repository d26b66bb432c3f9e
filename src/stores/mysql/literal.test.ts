import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { hasCode } from "../../base/error.ts";
import { bound, flag, list, row, sql, text, textOrNull, whole, wholeOrNull } from "./literal.ts";

const isData = (error: unknown): boolean => hasCode(error, "STORE_DATA");

describe("literals", () => {
  test("texts are in quotes, and of what is in them only the quote is written otherwise", () => {
    assert.equal(text(""), "''");
    assert.equal(text('{"a":"\\n\\"b"}'), '\'{"a":"\\n\\"b"}\'');
    assert.equal(text("it's"), '"it\'s"');
    assert.equal(text("'\""), "'''\"'");
    assert.equal(text("''\""), '"\'\'"""');
    assert.equal(text("\\'"), '"\\\'"');
    assert.equal(text("a\u0000b"), "'a\ufdd00000b'");
    assert.equal(textOrNull(null), "NULL");
  });

  test("a text ends where its last quote is, and never grows by more than half", () => {
    const quotes = fc.string({ unit: fc.constantFrom("'", '"', "\\", "a", ";", "-", "?", "`", "\n") });
    fc.assert(
      fc.property(quotes, (value) => {
        const literal = text(value);
        const quote = literal[0] ?? "";
        assert.ok(quote === "'" || quote === '"');
        const inside = literal.slice(1, -1);
        assert.equal(inside.replaceAll(quote + quote, "").includes(quote), false);
        assert.equal(inside.replaceAll(quote + quote, quote), value);
        assert.ok(literal.length <= value.length * 1.5 + 2);
      }),
    );
  });

  test("numbers are whole and exact", () => {
    assert.equal(whole(-(2 ** 53) + 1), "-9007199254740991");
    assert.equal(whole(-0), "0");
    assert.equal(wholeOrNull(null), "NULL");
    for (const wrong of [0.5, 2 ** 53, Number.NaN, Infinity, "1; DROP TABLE x", undefined, null, 1n]) {
      assert.throws(() => whole(wrong as number), isData);
    }
    for (const wrong of [undefined, 1, {}, ["'"]]) assert.throws(() => text(wrong as unknown as string), isData);
  });

  test("bounds are any number there is", () => {
    assert.equal(bound(1e308), "1e+308");
    assert.equal(bound(-1.5), "-1.5");
    assert.throws(() => bound(Number.NaN), isData);
  });

  test("they are put together as SQL", () => {
    assert.equal(row(whole(1), text("a"), flag(true), flag(false)), "(1,'a',1,0)");
    assert.equal(list([whole(1), whole(2)]), "1,2");
    assert.equal(sql`a = ${whole(1)} AND b = ${text("?1 ${x}")}`, "a = 1 AND b = '?1 ${x}'");
    assert.equal(sql``, "");
  });
});
