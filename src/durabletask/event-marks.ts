/**
 * SDKs number the actions of an orchestration 1, 2, 3…, so the place of an event tells its id. Where an SDK counts
 * differently, a patch on record before the event has the id.
 */
const idPrefix = "durabletask.id=";

export function markOfId(id: number): string {
  return `${idPrefix}${id}`;
}

/** Undefined for any other patch. */
export function idOfMark(patch: string): number | undefined {
  return patch.startsWith(idPrefix) ? Number(patch.slice(idPrefix.length)) : undefined;
}
