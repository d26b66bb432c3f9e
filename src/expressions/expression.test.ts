import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { TimeBudget } from "./expression-cost.ts";
import { Expressions } from "./expression.ts";

type Values = Readonly<Record<string, unknown>>;

const expressions = new Expressions();

function evaluate(expression: string, context: Values = {}, outputs: Values = {}): unknown {
  return expressions.evaluate(expression, { context: texts(context), outputs: texts(outputs) }, new TimeBudget());
}

function texts(values: Values): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}

/** The message of the DECISION_INVALID that the call fails with. */
function reasonOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    assert(hasCode(error, "DECISION_INVALID"), String(error));
    return error.message;
  }
  return assert.fail("it should have failed");
}

describe("what users write", () => {
  const cases: [expression: string, context: Values, expected: unknown][] = [
    ["context.n + 1", { n: 3 }, 4],
    ["context.rows > 10", { rows: 11 }, true],
    ["context.rows > 10", { rows: 10.5 }, true],
    ["context.n == 3 && context.n >= 3 && !(context.n < 3)", { n: 3 }, true],
    ["context['order id'] == 7", { "order id": 7 }, true],
    ["has(context.x)", { x: null }, true],
    ["has(context.x)", {}, false],
    ["has(context.x) && context.x > 1", {}, false],
    ["has(context.x) ? context.x : 5", {}, 5],
    ["'x' in context", { x: 1 }, true],
    ["'x' in context", {}, false],
    ["context.x == null", { x: null }, true],
    ["context.x == 'text'", { x: 3 }, false],
    ["size(context.list) + context.text.size() + size(context.map)", { list: [1, 2], text: "äöü", map: { a: 1 } }, 6],
    ["context.region in ['eu', 'us']", { region: "eu" }, true],
    ["2 in context.list", { list: [1, 2] }, true],
    ["context.file.startsWith('in/') && context.file.endsWith('.csv')", { file: "in/a.csv" }, true],
    ["context.file.matches('^in/[a-z]+$')", { file: "in/a" }, true],
    ["context.file.contains('/')", { file: "in/a" }, true],
    ["context.n > 5 ? 'many' : 'few'", { n: 6 }, "many"],
    ["'region-' + context.region + '-' + string(context.n)", { region: "eu", n: 3 }, "region-eu-3"],
    ["context.list[1] + context.list[context.last]", { list: [1, 2, 3], last: 2 }, 5],
    ["context.a.b.c", { a: { b: { c: [1, { d: 2 }] } } }, [1, { d: 2 }]],
    ["context.rows.all(row, row.ok)", { rows: [{ ok: true }, { ok: false }] }, false],
    ["context.rows.exists(row, row.id == 2)", { rows: [{ id: 1 }, { id: 2 }] }, true],
    ["context.list.filter(n, n > 1).map(n, n * 2)", { list: [1, 2, 3] }, [4, 6]],
    ["context.map.map(key, key)", { map: { z: 1, a: 2 } }, ["z", "a"]],
    ["context.map == {'a': 1, 'b': [2]}", { map: { b: [2], a: 1 } }, true],
    ["context.left == context.right", { left: { a: { b: 1 } }, right: { a: { b: 1 } } }, true],
    ["context.left == context.right", { left: { a: 1 }, right: { b: 1 } }, false],
    ["context.map", { map: { a: 1, b: { c: 2.5 } } }, { a: 1, b: { c: 2.5 } }],
    ["{'a': {'b': 1}, 'c': [2, 'x', 3u]}", {}, { a: { b: 1 }, c: [2, "x", 3] }],
    ["timestamp(context.at) > timestamp('2024-01-01T00:00:00Z')", { at: "2024-05-01T00:00:00Z" }, true],
    ["null", {}, null],
  ];
  for (const [expression, context, expected] of cases) {
    test(`${expression} of ${JSON.stringify(context)}`, () => {
      expressions.check(expression);
      assert.deepEqual(evaluate(expression, context), expected);
    });
  }

  test("outputs of the tasks before", () => {
    assert.equal(evaluate("outputs.extract.rows == 3", {}, { extract: { rows: 3 } }), true);
    assert.equal(evaluate("outputs['load users'] > context.min", { min: 1 }, { "load users": 2 }), true);
  });

  test("what is not converted stays CEL's own", () => {
    assert.deepEqual(evaluate("timestamp('2024-01-01T00:00:00Z')"), new Date("2024-01-01T00:00:00Z"));
  });
});

describe("whole numbers and others", () => {
  const cases: [expression: string, context: Values, expected: unknown][] = [
    ["context.price * 1.2", { price: 10 }, 12],
    ["context.price * 1.5", { price: 9.5 }, 14.25],
    ["1.5 + context.n", { n: 1 }, 2.5],
    ["context.n - 0.5", { n: 1 }, 0.5],
    ["context.n / 2.0", { n: 5 }, 2.5],
    ["context.n / 2", { n: 5 }, 2],
    ["context.n % 2 == 1", { n: 5 }, true],
    ["context.n == 3.0", { n: 3 }, true],
    ["context.n * 1.5 == 3", { n: 2 }, true],
    ["3 != context.n * 1.5", { n: 2 }, false],
    ["context.n < 3.5 && 2.5 < context.n", { n: 3 }, true],
    ["context.n in [1.5, 2, 3]", { n: 2 }, true],
    ["-context.n", { n: 2 }, -2],
    ["context.n", { n: 2 ** 60 }, 2 ** 60],
    ["9223372036854775807", {}, 2 ** 63],
    ["type(context.n) == int && type(context.d) == double", { n: 1, d: 1.5 }, true],
  ];
  for (const [expression, context, expected] of cases) {
    test(`${expression} of ${JSON.stringify(context)}`, () => assert.equal(evaluate(expression, context), expected));
  }
});

describe("check refuses what can not be read or can never work", () => {
  const cases: [expression: string, reason: string][] = [
    ["context.x +", "Unexpected token: EOF (line 1, column 12)"],
    ["context.x >\n  ) 1", "Unexpected token: RPAREN (line 2, column 3)"],
    ["contxt.rows > 1", "Unknown variable: contxt (line 1, column 1)"],
    ["'a' + 1", "no such overload: string + int (line 1, column 1)"],
    ["process.exit()", "Unknown variable: process (line 1, column 1)"],
    ["launch(context.x)", "found no matching overload for 'launch(dyn)' (line 1, column 1)"],
    ["context.x ? 'a' : 1", "Ternary branches must have the same type, got 'string' and 'int' (line 1, column 1)"],
    [`${"(".repeat(300)}true${")".repeat(300)}`, "Exceeded maxDepth (250) (line 1, column 251)"],
  ];
  for (const [expression, reason] of cases) {
    test(reason, () => {
      const message = reasonOf(() => expressions.check(expression));
      assert(message.endsWith(` is not valid: ${reason}`), message);
    });
  }

  test("the message has the expression", () => {
    assert.match(
      reasonOf(() => expressions.check("context.x +")),
      /^the expression "context\.x \+" is not valid/,
    );
  });

  test("a blank one, a long one, one of too many parts", () => {
    for (const blank of ["", " \n "]) {
      assert.equal(
        reasonOf(() => expressions.check(blank)),
        "the expression is blank",
      );
    }
    assert.match(
      reasonOf(() => expressions.check(`'${"x".repeat(10_000)}'`)),
      /"'x{99}…" has more than 10000 characters$/,
    );
    assert.match(
      reasonOf(() => expressions.check(`[${"1,".repeat(999)}1] + [${"1,".repeat(999)}1]`)),
      /Exceeded maxAstNodes \(2000\)/,
    );
  });
});

describe("evaluate says what is missing or wrong", () => {
  const cases: [expression: string, context: Values, reason: string][] = [
    ["context.missing > 1", {}, "No such key: missing (line 1, column 9)"],
    ["context.a.b", { a: {} }, "No such key: b (line 1, column 11)"],
    ["context.a.b", { a: null }, "No such key: b (line 1, column 11)"],
    ["context.toString", {}, "No such key: toString (line 1, column 9)"],
    ["context.list[5]", { list: [1] }, "No such key: index out of bounds, index 5 >= size 1 (line 1, column 1)"],
    ["context.n && true", { n: 1 }, "Logical operator requires bool operands, got 'int' (line 1, column 9)"],
    ["context.text > 1", { text: "a" }, "no such overload: dyn<string> > int (line 1, column 1)"],
    ["1 / context.n", { n: 0 }, "division by zero (line 1, column 1)"],
    ["9223372036854775807 + context.n", { n: 1 }, "integer overflow: 9223372036854775808 (line 1, column 1)"],
    ["context.text.matches('(')", { text: "a" }, "Invalid regular expression: ( (line 1, column 1)"],
  ];
  for (const [expression, context, reason] of cases) {
    test(`${expression} of ${JSON.stringify(context)}`, () => {
      const message = reasonOf(() => evaluate(expression, context));
      assert.equal(message, `the expression ${JSON.stringify(expression)} could not be evaluated: ${reason}`);
    });
  }

  test("a pattern that is valid and too much for its text", () => {
    const scope = { context: texts({ text: "a".repeat(7_000_000) }), outputs: {} };
    const expression = "context.text.matches('^(a|b)*c')";
    const message = reasonOf(() => expressions.evaluate(expression, scope, new TimeBudget(60_000)));
    assert.match(message, /: the regular expression "\^\(a\|b\)\*c" is too large or too complex for the text/);
  });

  test("an expression that was never checked", () => {
    assert.match(
      reasonOf(() => evaluate("context.x +")),
      /is not valid: Unexpected token: EOF/,
    );
    assert.match(
      reasonOf(() => evaluate("contxt.x")),
      /could not be evaluated: Unknown variable: contxt/,
    );
  });

  test("values that nest too deeply", () => {
    const list = "[".repeat(100_000) + "]".repeat(100_000);
    assert.match(
      reasonOf(() => expressions.evaluate("context.list == 1", { context: { list }, outputs: {} }, new TimeBudget())),
      /could not be evaluated: Maximum call stack size exceeded$/,
    );
  });
});

describe("keys are only keys", () => {
  const context = JSON.parse(
    '{"constructor": 1, "__proto__": 2, "hasOwnProperty": {"constructor": {"x": 3}}}',
  ) as Values;
  const cases: [expression: string, expected: unknown][] = [
    ["context.constructor", 1],
    ["context.__proto__", 2],
    ["context.hasOwnProperty.constructor.x", 3],
    ["size(context)", 3],
  ];
  for (const [expression, expected] of cases)
    test(expression, () => assert.equal(evaluate(expression, context), expected));

  test("a result keeps them", () => assert.deepEqual(evaluate("context", context), context));
});

test("only what is asked for is parsed", () => {
  const scope = { context: { n: "2", broken: "{", list: "[7]" }, outputs: { broken: "{" } };
  assert.equal(expressions.evaluate("context.n > 1 && context.list[0] == 7", scope, new TimeBudget()), true);
  assert.equal(expressions.evaluate("'broken' in outputs || true", scope, new TimeBudget()), true);
});

test("one expression after another, more than are kept", () => {
  const few = new Expressions();
  for (const round of [1, 2]) {
    for (let n = 0; n < 1100; n++) {
      assert.equal(
        few.evaluate(`context.n + ${n}`, { context: { n: String(round) }, outputs: {} }, new TimeBudget()),
        n + round,
      );
    }
  }
});
