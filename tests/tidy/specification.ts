import { basename } from "node:path/posix";
import { finding, isTest, nodes } from "./source.ts";
import type { Check, Finding, Source } from "./source.ts";
import type { Node } from "oxc-parser";

const document = "docs/specification.md";

/** The numbers of the sections (`4`) and lines (`4.4`) of the specification. Fails if a number is defined twice. */
export function specificationNumbers(text: string): ReadonlySet<string> {
  const numbers = Array.from(
    text.matchAll(/^(?:## (\d+)\.|### (\d+\.\d+)) /gm),
    ([, section, line]) => section ?? line,
  );
  const defined = new Set<string>();
  for (const number of numbers as string[]) {
    if (defined.has(number)) throw new Error(`${document} defines ${number} twice`);
    defined.add(number);
  }
  return defined;
}

/** Every number that a test's title, file name or comment cites is defined in the specification. */
export function specificationCitations(defined: ReadonlySet<string>): Check {
  return (source) => {
    if (!isTest(source.path)) return [];
    return [...fileCitations(source), ...titleCitations(source), ...commentCitations(source)]
      .filter(({ number }) => !defined.has(number))
      .map(({ number, start }): Finding =>
        finding(source, start, `cites ${number}, which ${document} does not define`),
      );
  };
}

interface Citation {
  readonly number: string;
  readonly start: number;
}

/** `spec-4-executor.test.ts` covers section 4. */
function fileCitations({ path }: Source): Citation[] {
  const section = /^spec-(\d+)/.exec(basename(path))?.[1];
  return section === undefined ? [] : [{ number: section, start: 0 }];
}

/** A title that begins with a number such as 4.4 cites that line. */
function titleCitations(source: Source): Citation[] {
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

/** `Spec §4.3–§4.8 and §5` cites three numbers. */
function commentCitations({ comments }: Source): Citation[] {
  return comments.flatMap(({ value, start }) =>
    Array.from(value.matchAll(/(?:§|\bspec )(\d+(?:\.\d+)?)/gi), ([, number]) => ({ number: number as string, start })),
  );
}
