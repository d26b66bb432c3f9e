import assert from "node:assert/strict";
import { test } from "node:test";
import { closestName, didYouMean } from "./closest-name.ts";

test("the name that was most likely meant is found", () => {
  const known = ["orders", "customers", "join"];
  assert.equal(closestName("order", known), "orders");
  assert.equal(closestName("ordres", known), "orders");
  assert.equal(closestName("costumers", known), "customers");
  assert.equal(closestName("Join", known), "join");
});

test("of several the closest wins", () => {
  assert.equal(closestName("table1", ["tabel2", "table2", "table22"]), "table2");
});

test("names that are far off, or short and wholly different, are not suggested", () => {
  assert.equal(closestName("index", ["orders"]), undefined);
  assert.equal(closestName("a", ["b", "c"]), undefined);
  assert.equal(closestName("ab", ["cd"]), undefined);
  assert.equal(closestName("anything", []), undefined);
  assert.equal(closestName("", ["a"]), undefined);
});

test("the hint is the end of a sentence, or nothing", () => {
  assert.equal(didYouMean("order", ["orders"]), '; did you mean "orders"?');
  assert.equal(didYouMean("index", ["orders"]), "");
});
