import assert from "node:assert/strict";
import { test } from "node:test";
import { parameterList } from "./parameter-list.ts";

const cases: readonly [source: string, list: string][] = [
  ["async ({ table }, ctx) => { f(x); }", "{table},ctx"],
  ["table => table.length", "table"],
  ["async table => (1)", "table"],
  ["() => (a)", ""],
  ["function () { [native code] }", ""],
  ["async function* run(a, b = f(1, [2]), ...rest) { return (a) }", "a,b=f(1,[2]),...rest"],
  ["run(params        , ctx            ) {}", "params,ctx"],
  ["(a, /* not ) here */ b, // nor ) here\n c,) => 1", "a,b,c"],
  ["(a = ')', b = \"(\", c = `)\\``) => 1", "a=')',b=\"(\",c=`)\\``"],
  ["({ a, b: { c } } = {}, ctx) => 1", "{a,b:{c}}={},ctx"],
];

for (const [source, list] of cases) {
  test(`parameters of ${source}`, () => assert.equal(parameterList(source), list));
}

test("a function's own text can be read", () => {
  assert.equal(parameterList(String((first: number, second = [1]) => first + second.length)), "first,second=[1]");
});
