import { z } from "zod";
import { momentMax } from "../base/time-limits.ts";
import { hasUnprintable, unprintableMessage } from "../base/unprintable.ts";
import { isNamespace } from "../base/namespace.ts";

export const nothing = z.object({});

/** A name in a path or filter, short enough for a database index. */
export const name = z.string().min(1).max(200);

/** The name of something to be created. */
export const newName = name.refine((text) => !hasUnprintable(text), { message: unprintableMessage });

/** Ids of instances may be longer than names. */
export const anyId = z.string().min(1).max(512);

export const newId = anyId.refine((text) => !hasUnprintable(text), { message: unprintableMessage });

export const epochMs = z.number().int().min(0).max(momentMax).meta({ description: "Epoch milliseconds." });

/** The page size; a query parameter arrives as text and is coerced. */
export const limit = z.coerce.number().int().min(1).max(1000).default(50);

export const cursor = z.string().max(500).optional().meta({ description: "`next` of the page before." });

export const ofId = z.object({ id: anyId });

/** One page of a list. `next` is the cursor of the next page, null on the last. */
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

/** The name of a namespace. */
export const namespace = z.string().refine(isNamespace, {
  message: "must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end",
});

/** The application that instances belong to, inside a namespace. */
export const app = z.string().min(1).max(200);
