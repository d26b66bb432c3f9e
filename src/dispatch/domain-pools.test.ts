import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode, type ErrorCode } from "../base/error.ts";
import { DomainPools } from "./domain-pools.ts";

const unusable = [0, -1, 1.5, "a", Number.NaN, Infinity, 10 ** 9, undefined, null] as readonly number[];

function refused(act: () => void, code: ErrorCode, message: RegExp): void {
  assert.throws(act, (error: Error) => {
    assert.match(error.message, message);
    return hasCode(error, code);
  });
}

function makePools(): DomainPools {
  return new DomainPools({
    poolSize: 10,
    poolSizeMax: 16,
    domains: { data: { size: 4, priority: 10 }, mail: { size: 2 } },
  });
}

describe("the division of the pool", () => {
  test("leaves to the default domain what is not reserved", () => {
    const pools = makePools();
    assert.deepEqual(
      pools.all.map(({ name, size }) => [name, size]),
      [
        ["data", 4],
        ["default", 4],
        ["mail", 2],
      ],
    );
    pools.resize(12);
    assert.equal(pools.of("default").size, 6);
    pools.resizeDomain("data", 7);
    assert.equal(pools.of("default").size, 3);
    pools.declare("late", { size: 3, priority: 99 });
    assert.equal(pools.of("default").size, 0);
    assert.equal(pools.all[0]?.name, "late");
  });

  test("keeps a domain's priority when its size changes", () => {
    const pools = makePools();
    pools.resizeDomain("data", 1);
    assert.equal(pools.of("data").priority, 10);
  });

  test("gives a declared default domain exactly its size", () => {
    const pools = new DomainPools({ poolSize: 10, poolSizeMax: 10, domains: { default: { size: 3 } } });
    assert.equal(pools.of("default").size, 3);
  });
});

describe("a refused size", () => {
  for (const size of unusable) {
    test(`${String(size)} says the allowed range, and changes nothing`, () => {
      const pools = makePools();
      refused(() => pools.resize(size), "POOL_SIZE_INVALID", /from 6 to 16 \(the sum of the domains is 6\), got /);
      refused(() => pools.resizeDomain("data", size), "POOL_SIZE_INVALID", /domain "data" .* from 1 to 8 .*, got /);
      assert.equal(pools.size, 10);
      assert.equal(pools.of("data").size, 4);
    });
  }

  test("is one below the sum of the domains, or above what they leave", () => {
    const pools = makePools();
    refused(() => pools.resize(5), "POOL_SIZE_INVALID", /from 6 to 16/);
    refused(() => pools.resizeDomain("mail", 7), "POOL_SIZE_INVALID", /from 1 to 6 \(what the other domains leave/);
    pools.resizeDomain("mail", 6);
    refused(() => pools.declare("late", { size: 1 }), "POOL_SIZE_INVALID", /no slots are left/);
  });

  test("is refused by the constructor too", () => {
    const make = (poolSize: number, size: number) => () =>
      new DomainPools({ poolSize, poolSizeMax: 10, domains: { data: { size } } });
    refused(make(11, 1), "POOL_SIZE_INVALID", /from 1 to 10 \("poolSizeMax"\), got 11/);
    refused(make(10, 11), "POOL_SIZE_INVALID", /"data" .* from 1 to 10 .* got 11/);
    refused(
      () => new DomainPools({ poolSize: 1, poolSizeMax: Number.NaN, domains: {} }),
      "POOL_SIZE_INVALID",
      /ceiling .* got NaN/,
    );
  });
});

test("an unknown domain is refused with the names of those that are known", () => {
  const pools = makePools();
  refused(() => pools.resizeDomain("date", 1), "DOMAIN_UNKNOWN", /"date" is not declared; .*"data", "default", "mail"/);
  pools.of("date");
  refused(() => pools.getDeclared("date"), "DOMAIN_UNKNOWN", /"date"/);
});

test("a domain needs a name and a priority that is a number", () => {
  const pools = makePools();
  for (const name of ["", " ", "\u0000", "a\u0000b", "a\nb", "\u009b31m", "a\u2028b", "\u202eb"]) {
    refused(() => pools.declare(name, { size: 1 }), "OPTION_INVALID", /name/);
    const options = { poolSize: 10, poolSizeMax: 16, domains: { [name]: { size: 1 } } };
    refused(() => new DomainPools(options), "OPTION_INVALID", /name/);
  }
  pools.declare("数据 data/1", { size: 1 });
  refused(() => pools.declare("x", { size: 1, priority: Number.NaN }), "OPTION_INVALID", /priority of domain "x"/);
});

test("a shared domain that was made smaller is so at once, whatever its quota", () => {
  const pools = new DomainPools({ poolSize: 10, poolSizeMax: 10, domains: { blue: { size: 3 } }, isShared: true });
  pools.setQuota("blue", 3);
  assert.equal(pools.of("blue").isFull, false);
  pools.of("blue").slots.add("a");
  pools.resizeDomain("blue", 1);
  assert.equal(pools.of("blue").isFull, true);
  pools.resizeDomain("blue", 3);
  assert.equal(pools.of("blue").isFull, false);
});
