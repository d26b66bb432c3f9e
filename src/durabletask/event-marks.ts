import type { Payload } from "../kernel/payload.ts";
import { parsed } from "./payloads.ts";

/**
 * SDKs number the actions of an orchestration 1, 2, 3…, so the place of an event tells its id. Where an SDK counts
 * differently, a patch on record before the event has the id.
 */
const idPrefix = "durabletask.id=";

export function markOfId(id: number): string {
  return `${idPrefix}${id}`;
}

/**
 * The tags of an orchestration are the data of an event of this name, which it has from its beginning, and which its
 * code does not see.
 */
export const tagsEvent = "durabletask.tags";

export function tagsText(tags: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(tags));
}

/** None where the data are something else: an event of that name can be raised by anybody. */
export function tagsOf(data: Payload | undefined): ReadonlyMap<string, string> {
  const value: unknown = typeof data === "string" ? parsed(data) : undefined;
  if (typeof value !== "object" || value === null) return new Map();
  return new Map(Object.entries(value).flatMap(([name, tag]) => (typeof tag === "string" ? [[name, tag]] : [])));
}

/** Undefined for any other patch. */
export function idOfMark(patch: string): number | undefined {
  return patch.startsWith(idPrefix) ? Number(patch.slice(idPrefix.length)) : undefined;
}
