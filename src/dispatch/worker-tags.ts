import { preview } from "../base/preview.ts";

/** The maximum of tags of one worker. */
export const tagsMax = 100;
export const tagPattern = /^[^\s,\p{C}]{1,100}$/u;
export const tagWords = "text of 1 to 100 characters without spaces and commas";

/** Returns why these cannot be the tags of a worker; undefined if they can. */
export function findTagsProblem(tags: unknown): string | undefined {
  if (!Array.isArray(tags)) return `must be a list of tags, got ${preview(tags)}`;
  if (tags.length > tagsMax) return `must have at most ${tagsMax} tags, got ${tags.length}`;
  const wrong = (tags as unknown[]).find((tag) => typeof tag !== "string" || !tagPattern.test(tag));
  return wrong === undefined ? undefined : `must hold tags, which are ${tagWords}, got ${preview(wrong)}`;
}
