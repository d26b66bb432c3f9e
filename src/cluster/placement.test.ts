import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { SeededRandom } from "../testing/seeded-random.ts";
import { ownerOf } from "./placement.rig.ts";

const shardCount = 128;
const shards = Array.from({ length: shardCount }, (_, shard) => shard);

function someMembers(count: number, seed: number): string[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: count }, () => random.uuid(Date.UTC(2026, 0, 5)));
}

function place(members: readonly string[]): (string | undefined)[] {
  return shards.map((shard) => ownerOf(shard, members));
}

const cluster = fc.uniqueArray(fc.oneof(fc.uuid(), fc.string({ maxLength: 5 })), { minLength: 1, maxLength: 8 });

describe("placement", () => {
  test("is fixed for ever: members of different releases agree", () => {
    const members = ["anna", "berta", "clara"];
    const owners = shards.slice(0, 16).map((shard) => ownerOf(shard, members)?.charAt(0));
    assert.equal(owners.join(""), "aacbbaaaaabbbcab");
    assert.equal(ownerOf(70_000, ["0194", "0195", "0196", "0197"]), "0197");
  });

  test("gives a shard to nobody where there is nobody", () => {
    assert.equal(ownerOf(0, []), undefined);
    assert.equal(ownerOf(0, new Set(["only"])), "only");
  });

  test("takes no notice of the members' order", () => {
    fc.assert(
      fc.property(cluster, (members) => {
        assert.deepEqual(place(members.toReversed()), place(members));
        assert.deepEqual(place(members.toSorted()), place(members));
      }),
    );
  });

  test("decides by the id between members of the same weight", () => {
    // Two words of one FNV-1a hash.
    for (const shard of shards) {
      assert.equal(ownerOf(shard, ["costarring", "liquid"]), "costarring");
      assert.equal(ownerOf(shard, ["liquid", "costarring"]), "costarring");
    }
  });

  for (const count of [2, 3, 4, 5, 6, 7]) {
    test(`gives each of ${count} members about its share`, () => {
      const share = shardCount / count;
      const deviation = Math.sqrt(share * (1 - 1 / count));
      const held: number[] = [];
      for (let seed = 1; seed <= 200; seed++) {
        const members = someMembers(count, seed);
        const owners = place(members);
        for (const member of members) held.push(owners.filter((owner) => owner === member).length);
      }
      for (const one of held) assert.ok(Math.abs(one - share) < 5 * deviation, `${one} shards, the share is ${share}`);
      // As even as chance: a hash whose bits hang together would be further off, or too close to be one.
      const variance = held.reduce((sum, one) => sum + (one - share) ** 2, 0) / held.length;
      assert.ok(Math.abs(Math.sqrt(variance) / deviation - 1) < 0.2, `${Math.sqrt(variance)} is not ${deviation}`);
    });
  }

  test("when a member leaves, only its shards move; when it joins, only to it", () => {
    fc.assert(
      fc.property(cluster, fc.nat(), (members, which) => {
        const one = members[which % members.length]!;
        const all = place(members);
        const rest = place(members.filter((member) => member !== one));
        for (const shard of shards) {
          if (all[shard] === one) assert.notEqual(rest[shard], one);
          else assert.equal(rest[shard], all[shard]);
        }
      }),
    );
  });
});
