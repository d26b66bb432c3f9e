import { utf8Length } from "../base/utf8.ts";
import type { ContextPatch } from "./event.ts";
import { type Payload, payloadBytes } from "./payload.ts";

/**
 * The data that belongs to an instance and passes between its tasks. Immutable: a patch gives a new one, so a context
 * that was handed out stays what it was.
 */
export class Context {
  static readonly empty = new Context(new Map(), 2);

  readonly entries: ReadonlyMap<string, Payload>;
  /** The exact UTF-8 size of the whole context as one JSON object. */
  readonly bytes: number;

  private constructor(entries: ReadonlyMap<string, Payload>, bytes: number) {
    this.entries = entries;
    this.bytes = bytes;
  }

  static of(record: Readonly<Record<string, Payload>>): Context {
    return Context.empty.patched(record);
  }

  /** Returns a patched context: top-level keys overwrite, null removes. */
  patched(patch: ContextPatch): Context {
    const keys = Object.keys(patch);
    if (keys.length === 0) return this;
    const entries = new Map(this.entries);
    let content = this.bytes - 2 - commas(this.entries.size);
    for (const key of keys) {
      const before = entries.get(key);
      if (before !== undefined) content -= entryBytes(key, before);
      const after = patch[key];
      if (after === null || after === undefined) entries.delete(key);
      else {
        content += entryBytes(key, after);
        entries.set(key, after);
      }
    }
    return new Context(entries, 2 + commas(entries.size) + content);
  }
}

function entryBytes(key: string, value: Payload): number {
  return utf8Length(JSON.stringify(key)) + 1 + payloadBytes(value);
}

function commas(entries: number): number {
  return Math.max(0, entries - 1);
}
