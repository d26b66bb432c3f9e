/**
 * Every regular expression of the sources takes time that grows with the length of its text and no faster, whatever the
 * text is: definitions, requests, files and messages of workers are written by others.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { closestName } from "../src/base/closest-name.ts";
import { nodes, parse } from "./tidy/source.ts";

const root = join(import.meta.dirname, "..");

/** A linear expression needs milliseconds for such a text, a quadratic one minutes. */
const length = 300_000;
const limitMs = 8_000;

/** Those whose texts are not written by others, with the reason. */
const exempt: ReadonlyMap<string, string> = new Map([
  [
    String.raw`/\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|${"`"}(?:\\[^]|[^${"`"}\\])*${"`"}|[^]/g`,
    "applied to the source of a function of this program, where comments and strings are closed",
  ],
]);

interface Found {
  readonly place: string;
  readonly regex: RegExp;
}

const found: readonly Found[] = globSync("src/**/*.ts", { cwd: root })
  .filter((path) => !/\.(?:test|rig)\.ts$/.test(path))
  .sort()
  .flatMap((path) => expressionsIn(path, readFileSync(join(root, path), "utf8")));

function expressionsIn(path: string, text: string): Found[] {
  const expressions: Found[] = [];
  for (const { node } of nodes(parse(path, text))) {
    if (node.type !== "Literal" || !("regex" in node)) continue;
    const line = text.slice(0, node.start).split("\n").length;
    expressions.push({ place: `${path}:${line}`, regex: new RegExp(node.regex.pattern, node.regex.flags) });
  }
  return expressions;
}

/** Long runs of what repetitions match, which then does not end as the expression wants it to. */
function hostileTexts(regex: RegExp): string[] {
  const messages = ["\n", "\t", ...Array.from({ length: 95 }, (_, code) => String.fromCodePoint(32 + code)), "\uFFFD"];
  const repeated = messages.filter(
    (message) => new RegExp(regex.source, "").test(message) || isNamedIn(regex, message),
  );
  const pairs = ["/*", '\\"', "\\'", "\\`", "#1", ":1", "/a", "\n ", " \n", "a-", "-1", "a ", "file:///a"];
  return [...new Set([...repeated.slice(0, 12), " ", "a", "1"]), ...pairs].flatMap((piece) => {
    const run = piece.repeat(Math.ceil(length / piece.length));
    return [`${run}\u0001`, `${opening(regex)}${run}\u0001`];
  });
}

function isNamedIn({ source }: RegExp, message: string): boolean {
  return source.includes(message) || (/\s/.test(message) && source.includes(String.raw`\s`));
}

/** What the expression wants to see first, so that a run behind it is looked at. */
function opening({ source }: RegExp): string {
  return /^\^((?:[\w: -]|\\\/)+)/.exec(source)?.[1]?.replaceAll("\\/", "/") ?? "";
}

/** True if it is through in time. The engine looks at the clock while it backtracks, so a slow one is stopped. */
function isFast(regex: RegExp, text: string): boolean {
  const sandbox = createContext({ regex, text });
  const code = regex.global ? "text.replaceAll(regex, '')" : "regex.lastIndex = 0, regex.exec(text)";
  try {
    runInContext(code, sandbox, { timeout: limitMs });
    return true;
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ERR_SCRIPT_EXECUTION_TIMEOUT", String(error));
    return false;
  }
}

function slowText(regex: RegExp): string | undefined {
  return hostileTexts(regex).find((text) => !isFast(regex, text));
}

describe("regular expressions", () => {
  test("are found, and so are those that are exempt", () => {
    assert.ok(found.length > 50, `found ${found.length}`);
    const all = new Set(found.map(({ regex }) => String(regex)));
    for (const known of exempt.keys()) assert.ok(all.has(known), `nobody uses ${known} any more`);
  });

  for (const slow of [/^\s*(?:a|b)\s*=/im, /\/+$/, /^(a+)+$/]) {
    test(`a slow one is noticed: ${slow}`, () => assert.notEqual(slowText(slow), undefined));
  }

  for (const { place, regex } of found) {
    if (exempt.has(String(regex))) continue;
    test(`${place} ${regex} is fast with hostile text`, () => {
      const text = slowText(regex);
      assert.equal(text, undefined, `takes more than ${limitMs} ms for ${JSON.stringify(text?.slice(0, 40))}…`);
    });
  }

  test("a name of any length is compared with long names at once", () => {
    const long = "n".repeat(1_000_000);
    assert.equal(closestName(`${long}x`, [long, `${long}y`]), undefined);
    assert.equal(closestName("submitWorkflw", ["submitWorkflow"]), "submitWorkflow");
  });
});
