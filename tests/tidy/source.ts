import { parseSync, visitorKeys } from "oxc-parser";
import type { Comment, Node, Program } from "oxc-parser";

/** A parsed file. The path is from the root, with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly comments: readonly Comment[];
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

export type Check = (source: Source) => Finding[];

export function parse(path: string, text: string): Source {
  const result = parseSync(path, text, { sourceType: "module" });
  const error = result.errors[0];
  if (error !== undefined) throw new Error(`${path} does not parse: ${error.message}`);
  return { path, text, program: result.program, comments: result.comments };
}

/** Every node, outer ones first, with the nodes around it, nearest first. */
export function* nodes(source: Source): Generator<{ node: Node; around: readonly Node[] }> {
  yield* below(source.program, []);
}

function* below(node: Node, around: readonly Node[]): Generator<{ node: Node; around: readonly Node[] }> {
  yield { node, around };
  const nearer = [node, ...around];
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, unknown>)[key];
    for (const each of Array.isArray(child) ? child : [child]) {
      if (isNode(each)) yield* below(each, nearer);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

export function lineOf(source: Source, offset: number): number {
  return source.text.slice(0, offset).split("\n").length;
}

export function finding(source: Source, offset: number, what: string): Finding {
  return { path: source.path, line: lineOf(source, offset), what };
}

/** Tests, and the rigs that they share, run on Node, name any part and may be as long as what they tell. */
export function isTest(path: string): boolean {
  return /\.(?:test|rig)\.ts$/.test(path) || path.startsWith("tests/");
}
