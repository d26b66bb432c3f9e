import { basename } from "node:path/posix";
import { finding, isTest, nodes } from "./source.ts";
import type { Check, Finding, Source } from "./source.ts";
import type { Node } from "oxc-parser";

const document = "docs/specification.md";

export interface Specification {
  /** Of sections (`4`) and lines (`4.4`). */
  readonly numbers: ReadonlySet<string>;
  /** The lines that do not begin with "Planned.". */
  readonly builtLines: readonly string[];
}

/** Fails if a number is defined twice. */
export function readSpecification(text: string): Specification {
  const numbers = new Set<string>();
  const builtLines: string[] = [];
  for (const [, section = "", line, body = ""] of text.matchAll(/^(?:## (\d+)\.|### (\d+\.\d+)) (?=.*\n+(.*))/gm)) {
    const number = line ?? section;
    if (numbers.has(number)) throw new Error(`${document} defines ${number} twice`);
    numbers.add(number);
    if (line !== undefined && !body.startsWith("**Planned.**")) builtLines.push(line);
  }
  return { numbers, builtLines };
}

/** Every number that a test's title, file name or comment cites is defined in the specification. */
export function undefinedCitations({ numbers }: Specification): Check {
  return (source) =>
    citations(source)
      .filter(({ number }) => !numbers.has(number))
      .map(({ number, start }) => finding(source, start, `cites ${number}, which ${document} does not define`));
}

/** Every line that is built is cited by a test. */
export function uncitedLines({ builtLines }: Specification, sources: readonly Source[]): Finding[] {
  const cited = new Set(sources.flatMap(citations).map(({ number }) => number));
  return builtLines
    .filter((number) => !cited.has(number))
    .map((number) => ({ path: document, line: 0, what: `${number} is cited by no test` }));
}

interface Citation {
  readonly number: string;
  readonly start: number;
}

function citations(source: Source): Citation[] {
  if (!isTest(source.path)) return [];
  return [...fileCitations(source), ...titleCitations(source), ...commentCitations(source)];
}

/** `spec-4-executor.test.ts` covers section 4. */
function fileCitations({ path }: Source): Citation[] {
  const section = /^spec-(\d+)/.exec(basename(path))?.[1];
  return section === undefined ? [] : [{ number: section, start: 0 }];
}

/** A title that begins with a number such as 4.4 cites that line. */
function titleCitations(source: Source): Citation[] {
  // Most files have no such title, and walking their nodes takes long.
  if (!/["'`]\d+\.\d+ /.test(source.text)) return [];
  return Array.from(nodes(source)).flatMap(({ node }) => {
    const number = /^\d+\.\d+(?= )/.exec(titleOf(node) ?? "")?.[0];
    return number === undefined ? [] : [{ number, start: node.start }];
  });
}

const titled: ReadonlySet<string> = new Set(["test", "it", "describe", "suite"]);

/** The beginning of a test's title, up to the first value that is put into it. */
function titleOf(node: Node): string | undefined {
  if (node.type !== "CallExpression") return undefined;
  const { callee } = node;
  const called = callee.type === "MemberExpression" ? [callee.object, callee.property] : [callee];
  if (!called.some((part) => part.type === "Identifier" && titled.has(part.name))) return undefined;
  const [title] = node.arguments;
  if (title?.type === "Literal") return String(title.value);
  return title?.type === "TemplateLiteral" ? title.quasis[0]?.value.raw : undefined;
}

/** `Spec §4.3–§4.5 and §5` cites 4.3, 4.4, 4.5 and 5. */
function commentCitations({ comments }: Source): Citation[] {
  return comments.flatMap(({ value, start }) =>
    Array.from(value.matchAll(/(?:§|\bspec )(\d+)(?:\.(\d+)(?:–§\1\.(\d+))?)?/gi)).flatMap(
      ([, section = "", first, last]) => citedNumbers(section, first, last).map((number) => ({ number, start })),
    ),
  );
}

function citedNumbers(section: string, first: string | undefined, last = first): string[] {
  if (first === undefined) return [section];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, place) => `${section}.${Number(first) + place}`);
}
