const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/**
 * Returns the member that a shard belongs to: the one with the highest weight for it (rendezvous hashing). When a
 * member leaves, only its own shards move; when one joins, it takes only those that become its own. Undefined if there
 * are no members.
 */
export function ownerOf(shard: number, members: Iterable<string>): string | undefined {
  let owner: string | undefined;
  let highest = -1;
  for (const member of members) {
    const weight = weightOf(shard, member);
    if (weight < highest || (weight === highest && owner !== undefined && member >= owner)) continue;
    owner = member;
    highest = weight;
  }
  return owner;
}

/**
 * A 32-bit FNV-1a hash of the member's id and the shard's number, with the final mix of MurmurHash3. Members of
 * different releases have to agree on it, so it never changes.
 */
function weightOf(shard: number, member: string): number {
  let hash = fnvOffset;
  for (let i = 0; i < member.length; i++) hash = Math.imul(hash ^ member.charCodeAt(i), fnvPrime);
  for (let shift = 0; shift < 32; shift += 8) hash = Math.imul(hash ^ ((shard >>> shift) & 0xff), fnvPrime);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
