import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { EngineError, hasCode } from "../base/error.ts";
import { TimeBudget } from "./expression-cost.ts";
import { celEnvironment, Expressions } from "./expression.ts";

const expressions = new Expressions();

function evaluate(expression: string, context: Record<string, unknown>, budget = new TimeBudget(100)): unknown {
  return expressions.evaluate(expression, { context: texts(context), outputs: {} }, budget);
}

function texts(values: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}

function messageFor(expression: string, context: Record<string, unknown>, budget?: TimeBudget): string {
  try {
    evaluate(expression, context, budget);
  } catch (error) {
    assert(hasCode(error, "DECISION_TOO_EXPENSIVE"), String(error));
    return error.message;
  }
  return assert.fail(`${expression} was not stopped`);
}

/** Inputs at which patterns, searches, numbers, lists and nested values blow up, by their type in CEL. */
const hostile = {
  digits: "1".repeat(20_000),
  alphabet: `${"a".repeat(40)}!`,
  long: "a".repeat(1_000_000),
  part: `b${"a".repeat(250_000)}`,
  halves: "a".repeat(60_000),
  half: `b${"a".repeat(30_000)}`,
  blank: " ".repeat(1_000_000),
  json: "[".repeat(500_000),
  list: Array.from({ length: 100_000 }, () => 1),
  same: Array.from({ length: 100_000 }, () => 1),
  texts: Array.from({ length: 100_000 }, () => "ab"),
  map: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n])),
  sameMap: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n])),
  n: 1_000_000,
  d: 1.5,
  yes: true,
  nothing: null,
};

const hostileTexts = texts(hostile);

const argumentsOf: Readonly<Record<string, readonly string[]>> = {
  string: [
    ...["digits", "alphabet", "long", "part", "halves", "half", "blank"].map((key) => `context.${key}`),
    "'^(a+)+$'",
    "''",
  ],
  int: ["context.n", "0", "1"],
  uint: ["7u"],
  double: ["context.d"],
  bool: ["context.yes"],
  null: ["context.nothing"],
  bytes: ["bytes(context.long)", "bytes(context.json)"],
  list: ["context.list", "context.same", "(context.list + context.list)"],
  "list<string>": ["context.texts", "context.long.split('')", "[context.long, context.long]"],
  map: ["context.map", "context.sameMap", "context"],
  type: ["int"],
  CelNamespace: ["cel"],
  dyn: ["context.list", "context.long"],
  "google.protobuf.Timestamp": ["timestamp('2024-01-01T00:00:00Z')"],
  "google.protobuf.Duration": ["duration('1h')"],
};

function valuesOf(type: string): readonly string[] {
  return argumentsOf[type] ?? argumentsOf[type.replace(/<.*/, "")] ?? [];
}

/** Whether it gives a value or fails does not matter here, but both have to come soon, and only in the two known ways. */
function endsSoon(expression: string): void {
  const startedAt = process.cpuUsage();
  try {
    expressions.evaluate(expression, { context: hostileTexts, outputs: {} }, new TimeBudget(20));
  } catch (error) {
    assert(error instanceof EngineError && error.code.startsWith("DECISION_"), `${expression}: ${String(error)}`);
    assert(error.message.length < 1000, `${expression}: a message of ${error.message.length} characters`);
  }
  const { user } = process.cpuUsage(startedAt);
  assert(user < 1_000_000, `${expression} took ${user / 1000} ms of processor time`);
}

describe("every function and operator of the language, with large inputs, ends soon", () => {
  const macros = new Set(["has", "all", "exists", "exists_one", "map", "filter", "bind"]);
  // Optional types are not enabled.
  const functions = celEnvironment()
    .getDefinitions()
    .functions.filter(({ signature }) => !/optional|OptionalNamespace/.test(signature));

  test("the definitions are looked at", () => assert(functions.length > 80));

  for (const { name, receiverType, params, signature } of functions) {
    if (macros.has(name)) continue;
    test(signature, () => {
      const types = [...(receiverType === null ? [] : [receiverType]), ...params.map(({ type }) => type)];
      let calls: string[][] = [[]];
      for (const type of types) {
        const values = valuesOf(type);
        assert(values.length > 0, type);
        calls = calls.flatMap((call) => values.map((value) => [...call, value]));
      }
      for (const [first = "", ...rest] of calls) {
        endsSoon(
          receiverType === null ? `${name}(${[first, ...rest].join(", ")})` : `${first}.${name}(${rest.join(", ")})`,
        );
      }
    });
  }

  for (const operator of ["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "in", "&&", "||"]) {
    test(operator, () => {
      for (const values of [
        argumentsOf["string"],
        argumentsOf["list"],
        argumentsOf["map"],
        argumentsOf["bytes"],
        argumentsOf["int"],
      ]) {
        for (const left of values ?? []) for (const right of values ?? []) endsSoon(`${left} ${operator} ${right}`);
      }
    });
  }

  for (const macro of ["all", "exists", "exists_one", "map", "filter"]) {
    test(`${macro} within ${macro}`, () => {
      endsSoon(`context.list.${macro}(a, context.list.${macro}(b, a + b > 0) != [])`);
      endsSoon(`context.texts.${macro}(a, context.long.split('') != [])`);
      endsSoon(`context.list.${macro}(a, (context.long + context.long + a).size() > 1)`);
      endsSoon(`context.map.${macro}(a, context.map == context.sameMap)`);
    });
  }

  test("values that double", () => {
    for (const seed of ["context.long", "context.list", "bytes(context.long)", "'ab'", "[1]"]) {
      const doubled = Array.from({ length: 40 }).reduce<string>((inner) => `cel.bind(x, x + x, ${inner})`, "x");
      endsSoon(`size(cel.bind(x, ${seed}, ${doubled})) > 0`);
    }
  });
});

test("random combinations of them end soon", () => {
  const { functions } = celEnvironment().getDefinitions();
  const methods = functions.filter(({ receiverType }) => receiverType === "string" || receiverType?.startsWith("list"));
  const leaf = fc.constantFrom(...Object.keys(hostile).map((key) => `context.${key}`));
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc
        .tuple(tie("expression"), fc.constantFrom("+", "==", "<", "in", "||"), tie("expression"))
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
      fc
        .tuple(tie("expression"), fc.constantFrom(...methods), tie("expression"))
        .map(([left, { name, params }, right]) => `${left}.${name}(${params.map(() => right).join(", ")})`),
      fc
        .tuple(leaf, fc.constantFrom("all", "exists", "map", "filter"), tie("expression"))
        .map(([list, macro, body]) => `${list}.${macro}(x, ${body})`),
      tie("expression").map((text) => `string(duration(${text}))`),
    ),
  }));
  fc.assert(fc.property(expression, endsSoon), { numRuns: 150 });
});

describe("one budget", () => {
  test("a pattern that backtracks for ever is ended, and the message says why", () => {
    assert.equal(
      messageFor("context.text.matches('^(a+)+$')", { text: `${"a".repeat(50)}!` }),
      `the expression "context.text.matches('^(a+)+$')" could not be evaluated: the decisions of one turn may take 100 ms together, and took longer`,
    );
  });

  test("is shared by all expressions that are evaluated with it", () => {
    const budget = new TimeBudget(100);
    const startedAt = performance.now();
    for (let n = 0; n < 20; n++) messageFor("context.alphabet.matches('^(a+)+$')", hostile, budget);
    // Twenty times the budget would be 2 s; converting the inputs is not part of it.
    assert.equal(budget.remainingMs, 0);
    assert(performance.now() - startedAt < 20_000);
  });

  test("is not needed by quick expressions", () => {
    const budget = new TimeBudget(100);
    budget.use(1000);
    assert.equal(evaluate("context.n + 1 > 3 && has(context.d)", { n: 3, d: 1 }, budget), true);
    assert.match(messageFor("context.text.matches('a')", { text: "a" }, budget), /took longer$/);
  });

  test("an expression that was stopped can be evaluated again", () => {
    const expression = "context.list.all(a, context.list.all(b, a + b >= 0))";
    messageFor(expression, { list: Array.from({ length: 100_000 }, (_, n) => n) });
    assert.equal(evaluate(expression, { list: [1, 2] }), true);
  });

  test("errors come through", () => {
    assert.throws(() => evaluate("context.list.all(a, a.b)", { list: [{}] }), /No such key: b/);
  });
});

test("a size that is too large is named", () => {
  // Longer than a test may take, and no more values than are needed: sizes decide here, on any machine.
  const { halves, half, digits } = hostile;
  const enough = new TimeBudget(600_000);
  assert.match(
    messageFor("context.halves.lastIndexOf(context.half) == 1", { halves, half }, enough),
    /lastIndexOf searches 60000 characters for 30001; multiplied these may be 100000000 at most$/,
  );
  assert.match(
    messageFor("duration(context.digits) > duration('1s')", { digits }, enough),
    /the text of duration has 20000 characters; 100 are allowed$/,
  );
});
