import { lineOf, isTest } from "./source.ts";
import type { Finding, Source } from "./source.ts";
import type { Class, Node } from "oxc-parser";

export const sizesMax = { methods: 40, fields: 20, lines: 500 } as const;

/** What is larger than we like: a class by its methods or fields, a file by its lines. */
export interface Large {
  readonly path: string;
  /** Of the class; `file` for the file itself. */
  readonly name: string;
  readonly what: keyof typeof sizesMax;
  readonly count: number;
  readonly line: number;
}

export function sizes(source: Source): Large[] {
  const { path, text, program } = source;
  if (!path.startsWith("src/") || isTest(path)) return [];
  const lines = text.split("\n").length - 1;
  const all: Large[] = [{ path, name: "file", what: "lines", count: lines, line: 1 }];
  for (const node of program.body) {
    const declared = classOf(node);
    if (declared === undefined) continue;
    const { body, id, start } = declared;
    const methods = body.body.filter((each) => each.type === "MethodDefinition" && each.kind !== "constructor").length;
    const fields = body.body.filter((each) => each.type === "PropertyDefinition").length;
    const named = { path, name: id?.name ?? "class", line: lineOf(source, start) };
    all.push({ ...named, what: "methods", count: methods }, { ...named, what: "fields", count: fields });
  }
  return all.filter(({ what, count }) => count > sizesMax[what]);
}

function classOf(node: Node): Class | undefined {
  const declared = node.type === "ExportNamedDeclaration" ? node.declaration : node;
  return declared?.type === "ClassDeclaration" ? declared : undefined;
}

export interface KnownLarge extends Omit<Large, "line"> {
  readonly why: string;
}

/** One a line: path, class or `file`, `methods`, `fields` or `lines`, their number, and after ` -- ` the reason. */
export function readLarge(text: string): KnownLarge[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [left = "", why = ""] = line.split(" -- ");
      const [path = "", name = "", what = "", count = ""] = left.split(" ");
      return { path, name, what: what as Large["what"], count: Number(count), why };
    });
}

/** The exceptions may not grow, each has its reason, and what is small enough again is taken off the list. */
export function sizeRatchet(found: readonly Large[], known: readonly KnownLarge[]): Finding[] {
  const findings: Finding[] = [];
  const isSame = (one: Omit<Large, "line">, other: Omit<Large, "line">): boolean =>
    one.path === other.path && one.name === other.name && one.what === other.what;
  for (const large of found) {
    const { path, name, what, count, line } = large;
    const before = known.find((each) => isSame(each, large))?.count ?? sizesMax[what];
    if (count > before)
      findings.push({ path, line, what: `${name} has ${count} ${what}; at most ${before} are allowed` });
  }
  for (const each of known) {
    const { path, name, what, why } = each;
    if (why === "") findings.push({ path, line: 0, what: `${name} is on the list of large ones without a reason` });
    if (!found.some((large) => isSame(large, each))) {
      findings.push({
        path,
        line: 0,
        what: `${name} has no more than ${sizesMax[what]} ${what}: take it off the list`,
      });
    }
  }
  return findings;
}
