import { posix } from "node:path";
import { nodes } from "./source.ts";
import type { Source } from "./source.ts";
import type { Node } from "oxc-parser";

/** One import, re-export, `import()` or `import("…").Type`. */
export interface Import {
  readonly specifier: string;
  readonly offset: number;
  /** The file from the root; undefined for a package. */
  readonly path: string | undefined;
  /** The names that are taken; undefined if it could be all of them. */
  readonly names: readonly string[] | undefined;
}

const known = new WeakMap<Source, readonly Import[]>();

export function importsOf(source: Source): readonly Import[] {
  const imports = known.get(source) ?? findImports(source);
  known.set(source, imports);
  return imports;
}

function findImports(source: Source): Import[] {
  // Only these two can stand below the top level, and walking all nodes takes long.
  const isDeep = /\bimport\(/.test(source.text);
  const all = isDeep ? Array.from(nodes(source), ({ node }) => node) : source.program.body;
  return all.flatMap((node) => {
    const specifier = specifierOf(node);
    if (specifier === undefined) return [];
    const path = specifier.startsWith(".") ? posix.join(posix.dirname(source.path), specifier) : undefined;
    return [{ specifier, offset: node.start, path, names: namesOf(node) }];
  });
}

function specifierOf(node: Node): string | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ExportNamedDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return node.source?.type === "Literal" && typeof node.source.value === "string" ? node.source.value : undefined;
    default:
      return undefined;
  }
}

function namesOf(node: Node): readonly string[] | undefined {
  if (node.type === "ExportNamedDeclaration") return node.specifiers.map(({ local }) => nameOf(local));
  if (node.type !== "ImportDeclaration") return undefined;
  const names = node.specifiers.map((each) => (each.type === "ImportSpecifier" ? nameOf(each.imported) : undefined));
  return names.every((name) => name !== undefined) ? names : undefined;
}

export function nameOf(node: Node): string {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" ? String(node.value) : "";
}
