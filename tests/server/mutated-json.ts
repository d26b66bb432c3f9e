import * as fc from "fast-check";

/** One change somewhere in a JSON value, at any depth. Where it lands depends on the value it is applied to. */
export interface Mutation {
  /** Which part of the value, of all its parts in order; counted round and round. */
  readonly place: number;
  readonly change:
    | { readonly kind: "delete" }
    | { readonly kind: "repeat" }
    | { readonly kind: "enlarge" }
    | { readonly kind: "wrap" }
    | { readonly kind: "replace"; readonly by: unknown }
    | { readonly kind: "add"; readonly name: string; readonly value: unknown };
}

type Parent = Record<string, unknown> | unknown[];

/** What programs that trust their input stumble over. */
export const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -0.5,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  8.64e15 + 1,
  1e308,
  "",
  "x",
  "1",
  "0",
  "null",
  "\u0000",
  "a\nb",
  "\u202e",
  "\ud800",
  "__proto__",
  "constructor",
  "{not json",
  "[".repeat(5000) + "]".repeat(5000),
  "y".repeat(70_000),
  [],
  {},
  [[]],
  [null],
  { kind: "anything" },
  { __proto__: null, length: 3 },
  { ref: 1, bytes: 1 },
  { toString: 1 },
];

export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...oddValues) },
  { weight: 1, arbitrary: fc.jsonValue() },
);

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  place: fc.nat(9999),
  change: fc.oneof(
    fc.record({ kind: fc.constantFrom("delete", "repeat", "enlarge", "wrap") }),
    fc.record({ kind: fc.constant("replace" as const), by: oddValue }),
    fc.record({
      kind: fc.constant("add" as const),
      name: fc.constantFrom("extra", "__proto__", "toJSON", "type", "kind", "output"),
      value: oddValue,
    }),
  ),
});

/** A copy with the mutation in it. */
export function mutated(value: unknown, { place, change }: Mutation): unknown {
  const root = { value: structuredClone(value) };
  const places = placesIn(root);
  const [parent, key] = places[place % places.length] as [Parent, string];
  const at = (parent as Record<string, unknown>)[key];
  const set = (next: unknown): void => void ((parent as Record<string, unknown>)[key] = next);
  if (change.kind === "delete") {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  } else if (change.kind === "repeat") {
    if (Array.isArray(at)) at.push(...(at as unknown[]));
    else set([at, at]);
  } else if (change.kind === "wrap") set({ value: at });
  else if (change.kind === "enlarge") set(enlarged(at));
  else if (change.kind === "replace") set(change.by);
  else if (typeof at === "object" && at !== null && !Array.isArray(at)) {
    Object.defineProperty(at, change.name, { value: change.value, enumerable: true, configurable: true });
  } else set({ [change.name]: change.value });
  return root.value;
}

function enlarged(value: unknown): unknown {
  if (typeof value === "string") return value + "z".repeat(100_000);
  if (typeof value === "number") return value * 1e12 + 1;
  if (Array.isArray(value)) {
    const [item = null] = value as unknown[];
    // Otherwise two changes in one value could give more than memory holds.
    return Array.from({ length: JSON.stringify(item).length < 1000 ? 30_000 : 20 }, () => structuredClone(item));
  }
  if (typeof value === "object" && value !== null) {
    return { ...value, ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i])) };
  }
  return [value];
}

/** Of every value inside, and of the whole. */
function placesIn(root: Record<string, unknown>): [Parent, string][] {
  const places: [Parent, string][] = [];
  const walk = (parent: Parent): void => {
    for (const [key, child] of Object.entries(parent)) {
      places.push([parent, key]);
      if (typeof child === "object" && child !== null) walk(child as Parent);
    }
  };
  walk(root);
  return places;
}
