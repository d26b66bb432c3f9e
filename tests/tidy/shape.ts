import { basename } from "node:path/posix";
import { finding, nodes } from "./source.ts";
import type { Finding, Source } from "./source.ts";
import type { MethodDefinition, Node, PropertyDefinition } from "oxc-parser";

/** Ways of writing that we do not use, each with the one we use instead. */
export function shape(source: Source): Finding[] {
  const findings: Finding[] = [];
  for (const { node } of nodes(source)) {
    const what = unwanted(node) ?? emptyCatch(source, node) ?? sourceUrl(source, node);
    if (what !== undefined) findings.push(finding(source, node.start, what));
  }
  return findings;
}

function unwanted(node: Node): string | undefined {
  switch (node.type) {
    case "ExportDefaultDeclaration":
      return "default export: give it a name";
    case "ExportAllDeclaration":
      return "export *: list the names";
    case "TSEnumDeclaration":
      return "enum: use a union of strings";
    case "TSModuleDeclaration":
      return "namespace: use a file";
    case "MethodDefinition":
    case "PropertyDefinition":
      return isKeyword(node) ? `${node.accessibility}: use #names, or nothing` : undefined;
    case "TSAsExpression":
    case "TSTypeAssertion":
      return node.typeAnnotation.type === "TSAnyKeyword" ? "as any: say what it is, or unknown" : undefined;
    case "CallExpression":
      return isOnly(node) ? "only: the other tests would be passed over" : undefined;
    case "DebuggerStatement":
      return "debugger";
    default:
      return undefined;
  }
}

/** A constructor has no `#` form, so it alone may be private by keyword. */
function isKeyword(node: MethodDefinition | PropertyDefinition): boolean {
  if (node.type === "MethodDefinition" && node.kind === "constructor") return false;
  return node.accessibility != null;
}

function isOnly(node: Extract<Node, { type: "CallExpression" }>): boolean {
  const { callee } = node;
  if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return false;
  if (callee.property.type !== "Identifier" || callee.property.name !== "only") return false;
  return ["test", "it", "describe", "suite"].includes(callee.object.name);
}

/** An error may be passed over, but not without a word. */
function emptyCatch(source: Source, node: Node): string | undefined {
  if (node.type !== "CatchClause" || node.body.body.length > 0) return undefined;
  const { start, end } = node.body;
  const explained = source.comments.some((comment) => comment.start > start && comment.end < end);
  return explained ? undefined : "empty catch: say why the error does not matter";
}

/** The build rewrites imports but not URLs, so a URL of a .ts file leads nowhere in the published package. */
function sourceUrl(source: Source, node: Node): string | undefined {
  if (!source.path.startsWith("src/") || node.type !== "NewExpression") return undefined;
  const [target] = node.arguments;
  const isUrl = node.callee.type === "Identifier" && node.callee.name === "URL" && target?.type === "Literal";
  return isUrl && /^\.{1,2}\/.*\.ts$/.test(String(target.value))
    ? "URL of a .ts file: take the extension from import.meta.url"
    : undefined;
}

/** Names under which anything at all may be put. */
const drawers = ["utils", "util", "common", "types", "helpers", "misc", "shared"];

/** kebab-case, one noun; migrations are numbered. README.md is the page that a folder opens with. */
export function fileName(path: string): Finding[] {
  const name = basename(path);
  if (name === "README.md") return [];
  const kebab = /^\.?[a-z0-9]+(?:[-.][a-z0-9]+)*$/;
  const migration = /^\d{4}_[a-z0-9]+(?:[-_][a-z0-9]+)*\.sql$/;
  if (!kebab.test(name) && !migration.test(name)) return [{ path, line: 0, what: "file names are kebab-case" }];
  const stem = name.split(".")[0] ?? "";
  return drawers.includes(stem)
    ? [{ path, line: 0, what: `${stem} is a drawer: name the file after what it holds` }]
    : [];
}
