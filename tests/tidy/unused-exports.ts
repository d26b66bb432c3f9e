import { importsOf, nameOf } from "./imports.ts";
import { finding, isTest } from "./source.ts";
import type { Finding, Source } from "./source.ts";
import type { Node } from "oxc-parser";

interface Exported {
  readonly name: string;
  readonly start: number;
}

/** The specification promises this mapping; no part of the product needs it yet. */
const kept = ["src/powerjob/codes.ts"];

/**
 * What a file of src/ exports is imported by another, or used in the file itself. Used by tests alone, it is dead.
 * The doors export for users.
 */
export function unusedExports(sources: readonly Source[]): Finding[] {
  const used = new Set<string>();
  for (const source of sources) {
    if (isTest(source.path)) continue;
    for (const { path, names } of importsOf(source)) {
      if (path === undefined) continue;
      for (const name of names ?? ["*"]) used.add(`${path} ${name}`);
    }
  }
  return sources
    .filter(({ path }) => /^src\/.+\//.test(path) && !isTest(path) && !kept.includes(path) && !used.has(`${path} *`))
    .flatMap((source) => {
      const code = withoutComments(source);
      return exportsOf(source)
        .filter(({ name }) => !used.has(`${source.path} ${name}`) && mentions(code, name) < 2)
        .map(({ name, start }) => finding(source, start, `exports ${name}, which nothing in the product uses`));
    });
}

function exportsOf({ program }: Source): Exported[] {
  return program.body.flatMap((node) => (node.type === "ExportNamedDeclaration" ? exportedBy(node) : []));
}

function exportedBy(node: Extract<Node, { type: "ExportNamedDeclaration" }>): Exported[] {
  const { declaration, start } = node;
  if (declaration === null) return node.specifiers.map(({ exported }) => ({ name: nameOf(exported), start }));
  if (declaration.type === "VariableDeclaration") {
    return declaration.declarations.map(({ id }) => ({ name: nameOf(id), start }));
  }
  return "id" in declaration && declaration.id !== null ? [{ name: nameOf(declaration.id), start }] : [];
}

function withoutComments({ text, comments }: Source): string {
  let code = "";
  let end = 0;
  for (const comment of comments) {
    code += text.slice(end, comment.start);
    end = comment.end;
  }
  return code + text.slice(end);
}

function mentions(code: string, name: string): number {
  return code.match(new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`, "g"))?.length ?? 0;
}
