import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseSync } from "oxc-parser";
import type { Class, Comment, Node, ParseResult, Statement, TSInterfaceDeclaration } from "oxc-parser";

/** What a door exports under one name. Overloads of a function are one declaration. */
export interface Declaration {
  readonly name: string;
  readonly kind: "class" | "function" | "type";
  /** Of the source, from the root of the repository. */
  readonly file: string;
  /** The text of a doc comment, without its stars; empty if there is none. */
  readonly doc: string;
  /** What stands before the members; the whole of what has none. */
  readonly signatures: readonly string[];
  readonly members: readonly Member[];
}

export interface Member {
  readonly signature: string;
  readonly doc: string;
}

/** A parent that is no name of a door: its members are shown as those of its heirs. */
export type IsPublic = (name: string) => boolean;

interface Module extends Pick<ParseResult, "program" | "module" | "comments"> {
  readonly text: string;
}

interface Found {
  readonly path: string;
  readonly statements: readonly Statement[];
}

/** Reads the declarations that the compiler wrote for src/, and follows the names that a module exports to where they are declared. */
export class Declarations {
  readonly #folder: string;
  readonly #modules = new Map<string, Module>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The names that a module exports. */
  namesOf(path: string): string[] {
    const entries = this.#module(path).module.staticExports.flatMap((each) => each.entries);
    return [...new Set(entries.map((entry) => entry.exportName.name ?? "*"))];
  }

  read(path: string, name: string, isPublic: IsPublic): Declaration {
    const { path: declaredIn, statements } = this.#find(path, name);
    const nodes = statements.map(declarationOf);
    const [node] = nodes;
    if (node === undefined) throw new Error(`${path} exports ${name}, which is declared nowhere`);
    const doc = statements.map((each) => this.#docOf(declaredIn, each)).find((text) => text !== "") ?? "";
    const file = join("src", relative(this.#folder, declaredIn)).replace(/\.d\.ts$/, ".ts");
    const common = { name, file, doc };
    if (node.type === "ClassDeclaration" || node.type === "TSInterfaceDeclaration") {
      const kind = node.type === "ClassDeclaration" ? "class" : "type";
      const signatures = [this.#slice(declaredIn, statements[0]?.start ?? node.start, node.body.start)];
      return { ...common, kind, signatures, members: this.#membersOf(declaredIn, node, isPublic) };
    }
    const kind = node.type === "TSTypeAliasDeclaration" ? "type" : "function";
    const signatures = statements.map((each) => this.#slice(declaredIn, each.start, each.end));
    return { ...common, kind, signatures, members: [] };
  }

  #membersOf(path: string, node: Class | TSInterfaceDeclaration, isPublic: IsPublic): Member[] {
    const own = node.body.body
      .filter((each) => !isHidden(each))
      .map((each) => ({ signature: this.#slice(path, each.start, each.end), doc: this.#docOf(path, each) }))
      .filter(({ signature, doc }) => !(signature.startsWith("constructor(") && doc.startsWith("Made by ")));
    const inherited = parentsOf(node)
      .filter((parent) => !isPublic(parent))
      .flatMap((parent) => this.#inherited(path, parent, isPublic));
    return [...inherited, ...own];
  }

  #inherited(path: string, parent: string, isPublic: IsPublic): Member[] {
    const found = this.#findLocal(path, parent);
    const node = found?.statements.map(declarationOf)[0];
    if (found === undefined || (node?.type !== "ClassDeclaration" && node?.type !== "TSInterfaceDeclaration"))
      return [];
    const members = this.#membersOf(found.path, node, isPublic);
    return members.filter(({ signature }) => !signature.startsWith("constructor("));
  }

  /** Where a name that a module exports is declared. */
  #find(path: string, name: string): Found {
    const entry = this.#module(path)
      .module.staticExports.flatMap((each) => each.entries)
      .find((each) => each.exportName.name === name);
    if (entry?.moduleRequest === null || entry?.moduleRequest === undefined) {
      const found = this.#findLocal(path, entry?.localName.name ?? name);
      if (found === undefined) throw new Error(`${path} exports ${name}, which is declared nowhere`);
      return found;
    }
    return this.#find(pathOf(path, entry.moduleRequest.value), entry.importName.name ?? name);
  }

  /** Where a name that a module uses is declared: there, or in what it imports. Undefined for names of packages and of the language. */
  #findLocal(path: string, name: string): Found | undefined {
    const { program, module } = this.#module(path);
    const statements = program.body.filter((each) => nameOf(declarationOf(each)) === name);
    if (statements.length > 0) return { path, statements };
    for (const { entries, moduleRequest } of module.staticImports) {
      const entry = entries.find((each) => each.localName.value === name);
      if (entry !== undefined && moduleRequest.value.startsWith(".")) {
        return this.#find(pathOf(path, moduleRequest.value), entry.importName.name ?? name);
      }
    }
    return undefined;
  }

  #module(path: string): Module {
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const text = readFileSync(path, "utf8");
    const { program, module, comments } = parseSync(path, text);
    const read = { text, program, module, comments };
    this.#modules.set(path, read);
    return read;
  }

  /** A piece of a declaration on one line, in the words of users. */
  #slice(path: string, start: number, end: number): string {
    const { text, comments } = this.#module(path);
    const inner = comments.filter((each) => each.start >= start && each.end <= end);
    let piece = text.slice(start, end);
    for (const each of inner.toReversed()) {
      piece = piece.slice(0, each.start - start) + piece.slice(each.end - start);
    }
    return piece
      .replaceAll(/\s+/g, " ")
      .replaceAll(/import\("[^"]+"\)\./g, "")
      .replace(/^export (?:declare )?/, "")
      .replace(/;? *$/, "");
  }

  #docOf(path: string, node: Node): string {
    const { text, comments } = this.#module(path);
    const above = comments.findLast((each) => isDocComment(each) && each.end <= node.start);
    if (above === undefined || text.slice(above.end, node.start).trim() !== "") return "";
    return textOf(above);
  }
}

/** The comment with which the source of a door begins. */
export function docAtTop(source: string): string {
  const [first] = parseSync("door.ts", source).comments;
  return first?.start === 0 && isDocComment(first) ? textOf(first) : "";
}

/** A doc comment without its stars. */
function textOf({ value }: Comment): string {
  const lines = value.slice(1).split("\n");
  return lines
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

function isDocComment(comment: Comment): boolean {
  return comment.type === "Block" && comment.value.startsWith("*");
}

function declarationOf(statement: Statement): Node {
  return statement.type === "ExportNamedDeclaration" && statement.declaration !== null
    ? statement.declaration
    : statement;
}

function nameOf(node: Node): string | undefined {
  if (node.type === "VariableDeclaration") {
    const id = node.declarations[0]?.id;
    return id?.type === "Identifier" ? id.name : undefined;
  }
  return "id" in node && node.id !== null && "name" in node.id ? node.id.name : undefined;
}

function parentsOf(node: Class | TSInterfaceDeclaration): string[] {
  const parents =
    node.type === "TSInterfaceDeclaration" ? node.extends.map((each) => each.expression) : [node.superClass];
  return parents.flatMap((each) => (each?.type === "Identifier" ? [each.name] : []));
}

/** `#private`, and members that only the compiler keeps from users. */
function isHidden(member: Node): boolean {
  if ("key" in member && member.key.type === "PrivateIdentifier") return true;
  return "accessibility" in member && (member.accessibility === "private" || member.accessibility === "protected");
}

function pathOf(from: string, request: string): string {
  return join(dirname(from), request.replace(/\.ts$/, ".d.ts"));
}
