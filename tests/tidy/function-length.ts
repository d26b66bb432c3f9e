import { isTest, lineOf, nodes } from "./source.ts";
import type { Finding, Source } from "./source.ts";
import type { Node } from "oxc-parser";

export const linesMax = 70;

/** A function that is longer than we like. Its name is a path: `Shard.open`, `Engine.submitWorkflow`. */
export interface LongFunction {
  readonly path: string;
  readonly name: string;
  readonly lines: number;
  readonly line: number;
}

export function longFunctions(source: Source): LongFunction[] {
  if (isTest(source.path)) return [];
  const found: LongFunction[] = [];
  for (const { node, around } of nodes(source)) {
    if (!isFunction(node)) continue;
    const line = lineOf(source, node.start);
    const lines = lineOf(source, node.end) - line + 1;
    if (lines > linesMax) found.push({ path: source.path, name: nameOf(node, around), lines, line });
  }
  return found;
}

/**
 * The ratchet. Known ones may stay as long as they are, may not grow, and when one shrinks its line in the list must
 * follow, so that the list only ever gets shorter.
 */
export function ratchet(found: readonly LongFunction[], known: readonly Omit<LongFunction, "line">[]): Finding[] {
  const findings: Finding[] = [];
  for (const { path, name, lines, line } of found) {
    const before = known.find((entry) => entry.path === path && entry.name === name)?.lines;
    if (before === undefined) {
      findings.push({ path, line, what: `${name} has ${lines} lines; past ${linesMax} a function wants to be two` });
    } else if (lines > before) {
      findings.push({ path, line, what: `${name} grew from ${before} lines to ${lines}` });
    }
  }
  for (const { path, name, lines } of known) {
    const now = found.find((entry) => entry.path === path && entry.name === name)?.lines ?? 0;
    if (now < lines) findings.push({ path, line: 0, what: `${name} shrank: let its line in the list follow` });
  }
  return findings;
}

/** One entry a line: path, name, lines. */
export function readList(text: string): Omit<LongFunction, "line">[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [path = "", name = "", lines = ""] = line.split(" ");
      return { path, name, lines: Number(lines) };
    });
}

function isFunction(node: Node): boolean {
  return (
    node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression"
  );
}

function nameOf(node: Node, around: readonly Node[]): string {
  const names = [node, ...around].map(ownName).filter((name) => name !== undefined);
  return names.length === 0 ? "(anonymous)" : names.toReversed().join(".");
}

function ownName(node: Node): string | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ClassDeclaration":
    case "ClassExpression":
    case "VariableDeclarator":
      return node.id?.type === "Identifier" ? node.id.name : undefined;
    case "MethodDefinition":
    case "PropertyDefinition":
    case "Property":
      if (node.key.type === "PrivateIdentifier") return `#${node.key.name}`;
      return node.key.type === "Identifier" ? node.key.name : undefined;
    default:
      return undefined;
  }
}
