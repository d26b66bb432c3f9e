/** Spec §6.4: secrets leave no job. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { RedactedLines } from "./redacted-lines.ts";
import { Redactor } from "./redactor.ts";

/** Few characters, so that secrets overlap, repeat and contain each other; none is in the mask. */
const characters = fc.constantFrom("a", "b", "c", "%", '"', "\\", "é", "=");
const secret = fc.string({ unit: characters, minLength: 1, maxLength: 12 });
const text = fc.string({ unit: characters, maxLength: 60 });

function redactorOf(secrets: readonly string[]): Redactor {
  const redactor = new Redactor();
  for (const each of secrets) redactor.add(each);
  return redactor;
}

/** Text with secrets at random places. */
const scene = fc
  .tuple(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.array(text, { maxLength: 6 }))
  .chain(([secrets, texts]) =>
    fc
      .array(fc.oneof(fc.constantFrom(...secrets), fc.constantFrom("", ...texts)), { maxLength: 12 })
      .map((parts) => ({ secrets, said: parts.join("") })),
  );

describe("6.4 a redactor", () => {
  test("leaves no secret in a text, in whatever form it is repeated", () => {
    fc.assert(
      fc.property(scene, ({ secrets, said }) => {
        const redactor = redactorOf(secrets);
        const forms = [said, encodeURIComponent(said), JSON.stringify(said), Buffer.from(said).toString("base64")];
        for (const form of forms) {
          const redacted = redactor.redact(form);
          for (const each of secrets) assert.ok(!redacted.includes(each), `${each} in ${redacted}`);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("keeps all the rest", () => {
    const redactor = redactorOf(["s3cret"]);
    assert.equal(redactor.redact("user s3cret at host, s3crets3cret."), "user *** at host, ***.");
    assert.deepEqual(redactor.redactValue({ s3cret: ["a s3cret", 5, null, true], n: { s: "x" } }), {
      "***": ["a ***", 5, null, true],
      n: { s: "x" },
    });
    assert.equal(redactorOf(["4711"]).redactValue(47_110), "***");
    const nothing = { a: 1 };
    assert.equal(new Redactor().redactValue(nothing), nothing);
  });

  test("knows the lines of a secret with several lines", () => {
    const redactor = redactorOf(["-----BEGIN-----\nMIIEvQ\n}\n"]);
    assert.equal(redactor.redact("key: MIIEvQ } -----BEGIN-----"), "key: *** } ***");
  });
});

describe("6.4 redacted lines", () => {
  test("hold no secret, however the text is cut into chunks and lines are cut into pieces", () => {
    const filler = fc.nat({ max: 9000 }).map((length) => "x".repeat(length));
    const scenes = fc.tuple(
      fc.array(secret, { minLength: 1, maxLength: 3 }),
      fc.array(fc.oneof(text, filler, fc.constant("\n")), { maxLength: 8 }),
      fc.array(fc.nat({ max: 3000 }), { maxLength: 40 }),
      fc.infiniteStream(fc.nat()),
    );
    fc.assert(
      fc.property(scenes, ([secrets, texts, cuts, choice]) => {
        const all = texts
          .flatMap((each) => [each, secrets[(choice.next().value as number) % secrets.length] ?? ""])
          .join("");
        const pieces: { piece: string; isEnd: boolean }[] = [];
        const lines = new RedactedLines(redactorOf(secrets), (piece, isEnd) => pieces.push({ piece, isEnd }));
        let rest = all;
        for (const cut of cuts) {
          lines.write(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        lines.write(rest);
        lines.end();
        const joined = pieces.map(({ piece, isEnd }) => piece + (isEnd ? "\n" : "")).join("");
        for (const each of secrets) assert.ok(!joined.includes(each), `${each} is left`);
        assert.ok(pieces.every(({ piece }) => piece.length <= 24_000));
        const fillers = (said: string): number => said.split("x").length;
        assert.equal(fillers(joined), fillers(all));
      }),
      { numRuns: 500 },
    );
  });

  test("of nothing but a secret, repeated without end, take no memory", () => {
    let pieces = 0;
    const lines = new RedactedLines(redactorOf(["abcdefgh"]), (piece) => {
      pieces++;
      assert.equal(piece, "***");
    });
    for (let n = 0; n < 1000; n++) lines.write("abcdefgh".repeat(1000));
    assert.ok(pieces > 990, `${pieces} pieces`);
    lines.end();
  });
});
