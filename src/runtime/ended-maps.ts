import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { Machine } from "../kernel/machine.ts";

/** Fewer items than that are read again as fast. */
const itemsMin = 1000;
const instancesMax = 4;
/** An item takes nine bytes. */
const itemsMax = 2_000_000;

/** An instance that has ended, with large maps. */
export interface EndedMap {
  readonly machine: Machine;
  readonly key: number;
}

interface KeptMap extends EndedMap {
  /** Whoever owns the shard of the instance. */
  readonly owner: object;
  readonly items: number;
}

/**
 * The states of instances with large maps that have ended and left memory, those that were used last: a map is read page
 * by page, and each would read the whole history first.
 *
 * An instance that has ended changes only after it came into memory, or is purged, and both of these forget it here.
 */
export class EndedMaps {
  readonly #kept = new Map<string, KeptMap>();
  #items = 0;

  find(id: string, owner: object): EndedMap | undefined {
    const found = this.#kept.get(id);
    if (found?.owner !== owner) return undefined;
    this.#kept.delete(id);
    this.#kept.set(id, found);
    return found;
  }

  /** Keeps the state of an instance that leaves memory, if its maps are large. */
  keep(id: string, { machine, key }: EndedMap, owner: object): void {
    this.delete(id);
    if (!(machine instanceof DagMachine)) return;
    let items = 0;
    for (const { count } of machine.state.items.all()) items += count;
    if (items < itemsMin || items > itemsMax) return;
    this.#kept.set(id, { machine, key, owner, items });
    this.#items += items;
    while (this.#kept.size > instancesMax || this.#items > itemsMax) this.delete(this.#kept.keys().next().value ?? id);
  }

  delete(id: string): void {
    const found = this.#kept.get(id);
    if (found === undefined) return;
    this.#kept.delete(id);
    this.#items -= found.items;
  }
}
