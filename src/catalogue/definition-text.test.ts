import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { readDefinition } from "./definition-text.ts";
import { jsonProblem } from "./json-text-place.ts";

function read(...lines: readonly string[]): unknown {
  return readDefinition(lines.join("\n"), "etl");
}

/** Where, and what is said about it. */
function refused(found: unknown, line: number, column: number, problem: RegExp): void {
  const { problem: said, ...place } = found as { line: number; column: number; problem: string };
  assert.deepEqual(place, { line, column }, said);
  assert.match(said, problem);
}

describe("a definition read from a text", () => {
  test("a sound one, with or without a byte order mark", () => {
    const spec = { nodes: [{ nodeId: 1 }] };
    assert.deepEqual(read(JSON.stringify(spec)), { spec });
    assert.deepEqual(read(`\uFEFF${JSON.stringify(spec)}`), { spec });
  });

  test("what is not JSON is said with its place", () => {
    refused(read("{", '  "nodes": [', "    { }", "    { }", "  ]", "}"), 4, 5, /expected "," or "]", found "{"/);
    refused(read('{"nodes": ['), 1, 12, /found the end of the file/);
    refused(read("{", "  nodes: []", "}"), 2, 3, /a name in double quotes/);
    refused(read("{", '  "nodes": [],', "}"), 3, 1, /a name in double quotes/);
    refused(read("{", '  "a": "b', "}"), 2, 8, /does not end/);
    refused(read('{"a": "\\x"}'), 1, 8, /escape/);
    refused(read("{} {}"), 1, 4, /nothing more/);
    refused(read(""), 1, 1, /expected a value/);
    refused(read("nope"), 1, 1, /expected a value/);
  });

  test("a node that is wrong is said with its line", () => {
    refused(
      read("{", '  "nodes": [', '    { "nodeId": 1 },', '    { "nodeId": 2, "retryCount": -1 }', "  ]", "}"),
      4,
      5,
      /retryCount must be/,
    );
    refused(
      read("{", '  "nodes": [', '    { "nodeId": 1 },', '    { "nodeId": "1" }', "  ]", "}"),
      4,
      5,
      /nodeId of another/,
    );
  });

  test("an edge that is wrong, and the one that closes a circle", () => {
    const nodes = '  "nodes": [{ "nodeId": 1 }, { "nodeId": 2 }],';
    refused(
      read("{", nodes, '  "edges": [', '    { "from": 1, "to": 2 },', '    { "from": 2, "to": 9 }', "  ]", "}"),
      5,
      5,
      /there is no node 9/,
    );
    refused(
      read("{", nodes, '  "edges": [', '    { "from": 1, "to": 2 },', '    { "from": 2, "to": 1 }', "  ]", "}"),
      5,
      5,
      /circle/,
    );
  });

  test("a setting that is wrong, no nodes, and what is no definition at all", () => {
    refused(
      read("{", '  "nodes": [{ "nodeId": 1 }],', '  "timeoutSeconds": "soon"', "}"),
      3,
      21,
      /timeoutSeconds must/,
    );
    refused(read("{", '  "nodes": []', "}"), 2, 12, /has no tasks/);
    refused(read("{", '  "edges": []', "}"), 1, 1, /nodes must be a list/);
    refused(read("[1]"), 1, 1, /nodes and edges/);
    refused(read("null"), 1, 1, /nodes and edges/);
  });

  test("nested however deeply, it is read or refused, and nothing breaks", () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    assert.ok("problem" in readDefinition(`{"nodes": ${deep}}`, "etl"));
    assert.ok("problem" in readDefinition("[".repeat(20_000), "etl"));
  });

  test("what JSON.parse takes has no problem, and what it does not has one", () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", "\\", '"', "0", "\n", "x"))
      .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));
    fc.assert(
      fc.property(fc.oneof(fc.json(), broken), (text) => {
        assert.equal(jsonProblem(text) === undefined, isJson(text), text);
      }),
      { numRuns: 2000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // That is the answer.
    return false;
  }
}
