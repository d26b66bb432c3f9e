const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/**
 * Returns the member that each shard belongs to: the one with the highest weight for it (rendezvous hashing), of several
 * the one whose id comes first. When a member leaves, only its own shards move; when one joins, it takes only those that
 * become its own. Undefined if there are no members.
 */
export function ownersOf(shardCount: number, members: Iterable<string>): (string | undefined)[] {
  const hashed = Array.from(members, (id) => ({ id, hash: hashOf(id) })).sort((a, b) => (a.id < b.id ? -1 : 1));
  return Array.from({ length: shardCount }, (_, shard) => {
    let owner: string | undefined;
    let highest = -1;
    for (const { id, hash } of hashed) {
      const weight = mix(hash, shard);
      if (weight <= highest) continue;
      owner = id;
      highest = weight;
    }
    return owner;
  });
}

/**
 * A 32-bit FNV-1a hash of the member's id and the shard's number, with the final mix of MurmurHash3. Members of
 * different releases have to agree on it, so it never changes. The part of the member's id is computed once for all shards.
 */
function hashOf(member: string): number {
  let hash = fnvOffset;
  for (let i = 0; i < member.length; i++) hash = Math.imul(hash ^ member.charCodeAt(i), fnvPrime);
  return hash;
}

function mix(memberHash: number, shard: number): number {
  let hash = memberHash;
  for (let shift = 0; shift < 32; shift += 8) hash = Math.imul(hash ^ ((shard >>> shift) & 0xff), fnvPrime);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
