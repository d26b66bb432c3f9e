import assert from "node:assert/strict";
import { test } from "node:test";
import { instanceFields, isNamespace, localName, namespaceOf, qualify, qualifyAs, refuseMark } from "./namespace.ts";

const namespaces = ["default", "acme", "a", "acme-2", "defaul", "default-1"];
const parts = ["@", "/", "default", "acme", "a", "order-1", "@acme/", "@default/", "@/", ""];

/** Every text of up to four parts, those that imitate prefixes included. */
function* names(depth: number): Generator<string> {
  yield "";
  if (depth === 0) return;
  for (const part of parts) for (const rest of names(depth - 1)) yield part + rest;
}

test("a qualified name gives back its namespace and its name, whatever the name is", () => {
  for (const name of new Set(names(4))) {
    for (const namespace of namespaces) {
      const qualified = qualify(namespace, name);
      assert.equal(namespaceOf(qualified), namespace, JSON.stringify(name));
      assert.equal(localName(qualified), name);
    }
  }
});

test("no two names of any two namespaces have the same qualified form", () => {
  const seen = new Map<string, string>();
  for (const name of new Set(names(4))) {
    for (const namespace of namespaces) {
      const origin = JSON.stringify([namespace, name]);
      const qualified = qualify(namespace, name);
      assert.equal(seen.get(qualified), undefined, `${origin} and ${seen.get(qualified)} are both ${qualified}`);
      seen.set(qualified, origin);
    }
  }
});

test("a name given in default never reaches another namespace, however it is nested", () => {
  assert.equal(namespaceOf(qualify("default", "@acme/order-1")), "default");
  assert.equal(namespaceOf(qualify("default", "@default/@acme/order-1")), "default");
  assert.equal(namespaceOf(qualifyAs("order-2", "@acme/order-1")), "default");
  assert.equal(namespaceOf(qualifyAs("@acme/order-2", "@globex/order-1")), "acme");
});

test("a name in default has no prefix, and one beside an instance belongs to its namespace", () => {
  assert.equal(qualify("default", "order-1"), "order-1");
  assert.equal(qualify("acme", "order-1"), "@acme/order-1");
  assert.equal(qualifyAs("@acme/order-1", "bill"), "@acme/bill");
  assert.equal(qualifyAs("order-1", "bill"), "bill");
});

test("log lines name the namespace outside default only", () => {
  assert.deepEqual(instanceFields("order-1"), { instanceId: "order-1" });
  assert.deepEqual(instanceFields("@acme/order-1"), { instanceId: "order-1", namespace: "acme" });
});

test("a namespace is a short lower-case name", () => {
  for (const name of ["default", "a", "acme-2", "0", "x".repeat(63)]) assert.ok(isNamespace(name), name);
  for (const name of ["", "-a", "a-", "A", "a/b", "@a", "a b", "a.b", "ä", "x".repeat(64), 1, undefined]) {
    assert.ok(!isNamespace(name), String(name));
  }
});

test("a name with the mark is refused with what to do instead", () => {
  assert.throws(() => refuseMark("an instance id", "@acme/order-1"), {
    code: "OPTION_INVALID",
    message: /^an instance id must not begin with "@".* got "@acme\/order-1"; a namespace is chosen by the token/,
  });
  refuseMark("an instance id", "order@acme");
});
