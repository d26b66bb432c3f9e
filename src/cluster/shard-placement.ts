import type { ClusterView } from "../stores/store.ts";
import { serversAmong } from "./member-about.ts";
import { ownersOf } from "./placement.ts";

/** The members that shards are placed on, and the one that each shard is placed on, as this member sees the cluster. */
export class ShardPlacement {
  readonly #shardCount: number;
  #me = "";
  /** All members of the last view, and those of them that may own shards. */
  #members: ReadonlySet<string> = new Set();
  #servers: readonly string[] = [];
  /** Members that announced that they are leaving, also this one. */
  readonly #leavers = new Set<string>();
  #isHandingOver = false;
  #living: ReadonlySet<string> = new Set();
  #owners: readonly (string | undefined)[] = [];

  constructor(shardCount: number) {
    this.#shardCount = shardCount;
  }

  /** The id of this member in the last view that contained it; empty before that. */
  get me(): string {
    return this.#me;
  }

  /** False if the view does not contain this member, which then keeps the placement that it knows. */
  follow(view: ClusterView, me: string, leaving: Iterable<string>): boolean {
    const members = new Set(view.members.map(({ id }) => id));
    for (const member of leaving) this.#leavers.add(member);
    for (const member of this.#leavers) if (!members.has(member)) this.#leavers.delete(member);
    if (!members.has(me)) return false;
    this.#me = me;
    if (this.#isHandingOver) this.#leavers.add(me);
    this.#members = members;
    this.#servers = serversAmong(view.members);
    this.#place();
    return true;
  }

  /** Another member is about to leave: no shard is placed on it any more, although views still contain it. */
  onLeaving(member: string): void {
    if (!this.#members.has(member) || member === this.#me) return;
    this.#leavers.add(member);
    this.#place();
  }

  /** This member is about to leave. False if it is no member now; then it leaves in the next view that contains it. */
  leave(): boolean {
    this.#isHandingOver = true;
    if (!this.#members.has(this.#me)) return false;
    this.#leavers.add(this.#me);
    this.#place();
    return true;
  }

  /** The cluster has removed this member: nothing is placed until the next view. */
  clear(): void {
    this.#members = new Set();
    this.#servers = [];
    this.#living = new Set();
    this.#owners = [];
  }

  /** True if shards are placed on the member. */
  isLiving(member: string): boolean {
    return this.#living.has(member);
  }

  belongsHere(shard: number): boolean {
    return this.#owners[shard] === this.#me;
  }

  /** The other member that the shard is placed on; undefined if there is none. */
  otherOwnerOf(shard: number): string | undefined {
    const member = this.#owners[shard];
    return member === this.#me ? undefined : member;
  }

  /** If all members are leaving, shards stay with them until the last one has left. */
  #place(): void {
    const staying = this.#servers.filter((id) => !this.#leavers.has(id));
    const living = new Set(staying.length > 0 ? staying : this.#servers);
    // Weighing each shard for each member takes long in a large cluster, and members rarely change.
    if (living.size === this.#living.size && [...living].every((id) => this.#living.has(id))) return;
    this.#living = living;
    this.#owners = ownersOf(this.#shardCount, living);
  }
}
