import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { translateDecision } from "./groovy-decision.ts";

describe("3.7 decisions of PowerJob in Groovy become CEL", () => {
  const translated: readonly (readonly [groovy: string, cel: string])[] = [
    ["true", "true"],
    ["return true;", "true"],
    ['context.get("kind") == "full"', 'context.kind == "full"'],
    ["return context.get('kind').equals('full')", '(context.kind == "full")'],
    ["context['row-count'].toInteger() > 100", 'int(context["row-count"]) > 100'],
    ['context.get("row-count") == "1"', 'context["row-count"] == "1"'],
    [
      "Integer.valueOf(context.get('n')) >= 3 && !(context.skip == \"true\")",
      'int(context.n) >= 3 && !(context.skip == "true")',
    ],
    ["context.get('n') as Integer % 2 == 0", "int(context.n) % 2 == 0"],
    ["context.get('day') != null", "has(context.day)"],
    ["context.day == null || context.containsKey('night')", '!has(context.day) || ("night" in context)'],
    ["context.mode == 'a' ? 1 : 0 // full", 'context.mode == "a" ? 1 : 0'],
    ["context.names.size() > 0L", "size(context.names) > 0"],
    ["context.get('it\\'s')", 'context["it\'s"]'],
  ];
  for (const [groovy, cel] of translated) test(groovy, () => assert.equal(translateDecision(groovy), cel));

  const left = [
    "",
    "def n = context.get('n'); return n > 1",
    "if (context.n > 1) { return true } else { return false }",
    'context.get("k") == "${today}"',
    "context.list.any { it > 1 }",
    "new Date().hours > 3",
    "System.exit(1)",
    "Integer.toHexString(3) == '3'",
    "context.get('a', 'b')",
    "context.name =~ /a+/",
    "context.get('a\\nb')",
    "1 +",
    "context.n as Date",
  ];
  for (const groovy of left) {
    test(`left alone: ${groovy}`, () => assert.equal(translateDecision(groovy), undefined));
  }
});
