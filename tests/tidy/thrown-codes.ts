import { interfaceErrors } from "../../src/api/envelope.ts";
import { errorCodes } from "../../src/base/error.ts";
import { importsOf } from "./imports.ts";
import { finding, isTest } from "./source.ts";
import type { Finding, Source } from "./source.ts";

const tables: readonly string[] = ["src/base/error.ts", "src/api/envelope.ts"];
const codes = { ...errorCodes, ...interfaceErrors };
const storeInterface = "src/stores/store.ts";

/**
 * An error code that a doc comment promises is given by that file or by one that it imports, over any number of others; or,
 * because interfaces promise what others do, by a file that imports it or one that such a file imports. Every store stands
 * behind the store's interface.
 */
export function thrownCodes(sources: readonly Source[]): Finding[] {
  const product = sources.filter(({ path }) => path.startsWith("src/") && !isTest(path) && !tables.includes(path));
  const byPath = new Map(product.map((source) => [source.path, source]));
  const importers = new Map<string, Source[]>();
  for (const source of product) {
    for (const { path = "" } of importsOf(source)) importers.set(path, [...(importers.get(path) ?? []), source]);
  }
  const stores = product.filter(({ path }) => path.startsWith("src/stores/"));
  const givers = (source: Source): Source[] => {
    const below = [...reachable([source], byPath, Infinity)];
    const above = reachable(importers.get(source.path) ?? [], byPath, 1);
    return [...below, ...above, ...(below.some(({ path }) => path === storeInterface) ? stores : [])];
  };
  return product.flatMap((source) =>
    promises(source)
      .filter(({ code }) => !givers(source).some(({ text }) => text.includes(`"${code}"`)))
      .map(({ code, start }) =>
        finding(source, start, `promises ${code}, which neither it nor what it imports throws`),
      ),
  );
}

function promises({ comments }: Source): { code: string; start: number }[] {
  return comments
    .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
    .flatMap(({ value, start }) =>
      Array.from(value.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g), ([code]) => ({ code, start })).filter(({ code }) =>
        Object.hasOwn(codes, code),
      ),
    );
}

function reachable(from: readonly Source[], byPath: ReadonlyMap<string, Source>, stepsMax: number): Set<Source> {
  const found = new Set(from);
  let latest = [...from];
  for (let steps = 0; steps < stepsMax && latest.length > 0; steps++) {
    const imported = latest.flatMap((source) => importsOf(source).map(({ path = "" }) => byPath.get(path)));
    latest = [...new Set(imported)].filter((source) => source !== undefined && !found.has(source)) as Source[];
    for (const source of latest) found.add(source);
  }
  return found;
}
