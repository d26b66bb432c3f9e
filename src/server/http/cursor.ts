import { HttpError } from "../request/http-error.ts";

/** The cursor of a page's end, opaque to callers so that its format may change. */
export function cursorOf(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

type Kinds<Place> = { readonly [I in keyof Place]: Place[I] extends string ? "string" : "number" };

/** Parses a cursor; undefined for the first page. `REQUEST_INVALID` if it is not a cursor. */
export function placeOf<Place extends readonly (string | number)[]>(
  cursor: string | undefined,
  kinds: Kinds<Place>,
): Place | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown;
    if (isPlace(place, kinds)) return place;
  } catch {
    // The text is not JSON: refused below, like a cursor of the wrong shape.
  }
  const details = [{ path: "query.cursor", problem: "not a cursor of this server: give `next` of the page before" }];
  throw new HttpError("REQUEST_INVALID", "the cursor is not one that this server gave", { details });
}

function isPlace<Place extends readonly (string | number)[]>(value: unknown, kinds: Kinds<Place>): value is Place {
  return Array.isArray(value) && value.length === kinds.length && kinds.every((kind, at) => isOf(kind, value[at]));
}

function isOf(kind: "string" | "number", value: unknown): boolean {
  return kind === "string" ? typeof value === "string" : Number.isSafeInteger(value) && (value as number) >= 0;
}
