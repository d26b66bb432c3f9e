import { z } from "zod";
import { momentMax } from "../base/time-limits.ts";
import { hasUnprintable, unprintableMessage } from "../base/unprintable.ts";

export const nothing = z.object({});

/** The names of things: never a way out of a folder, and never too long for an index. */
export const name = z.string().min(1).max(200);

/** Of something that is made. */
export const newName = name.refine((text) => !hasUnprintable(text), { message: unprintableMessage });

/** Ids of instances may be longer than names. */
export const anyId = z.string().min(1).max(512);

export const newId = anyId.refine((text) => !hasUnprintable(text), { message: unprintableMessage });

export const epochMs = z.number().int().min(0).max(momentMax).meta({ description: "Epoch milliseconds." });

/** Query parameters come as text. */
export const limit = z.coerce.number().int().min(1).max(1000).default(50);

export const cursor = z.string().max(500).optional().meta({ description: "`next` of the page before." });

export const ofId = z.object({ id: anyId });

/** One page, and how to ask for the next; null on the last. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: z.string().nullable() });
}

export const done = z.object({ done: z.literal(true) });

export const json = z.unknown().meta({ description: "Any JSON value." });

export const failure = z.object({
  type: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  stack: z.string().optional(),
});
