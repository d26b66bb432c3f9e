import { EngineError } from "./error.ts";
import { preview } from "./preview.ts";

/**
 * Instances, workflows, jobs and domains of one namespace are invisible in every other. Below the public interface their
 * ids and names are **qualified**: `@acme/order-1` in namespace `acme`, plain `order-1` in `default`. This module alone
 * knows that form. Interfaces qualify what comes in, and show what goes out as its local name.
 *
 * The form is unambiguous for every text: a local name of `default` that begins with the mark is written
 * `@default/@…`, and only the first prefix is ever read. Names that users give may not begin with the mark anyway
 * (`refuseMark`), so that no text of theirs looks like a qualified one.
 */
export const defaultNamespace = "default";

const mark = "@";
const markCode = mark.charCodeAt(0);
const namespaceForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The qualified form of a name that is given in a namespace. */
export function qualify(namespace: string, name: string): string {
  return namespace === defaultNamespace && name.charCodeAt(0) !== markCode ? name : `${mark}${namespace}/${name}`;
}

/** The namespace of a qualified name. */
export function namespaceOf(qualified: string): string {
  const end = prefixEnd(qualified);
  return end > 0 ? qualified.slice(1, end) : defaultNamespace;
}

/** A qualified name as it is called inside its namespace. */
export function localName(qualified: string): string {
  const end = prefixEnd(qualified);
  return end > 0 ? qualified.slice(end + 1) : qualified;
}

/** The namespace of an instance as rows have it: empty for `default`. */
export function namespaceColumn(id: string): string {
  const namespace = namespaceOf(id);
  return namespace === defaultNamespace ? "" : namespace;
}

/** Qualifies a name that is used inside the instance, or beside the qualified name, `of`. */
export function qualifyAs(of: string, name: string): string {
  return qualify(namespaceOf(of), name);
}

/** The fields of a log line about an instance: `namespace` only outside `default`. */
export function instanceFields(id: string): { readonly instanceId: string; readonly namespace?: string } {
  const namespace = namespaceOf(id);
  return namespace === defaultNamespace ? { instanceId: localName(id) } : { instanceId: localName(id), namespace };
}

/**
 * The range of qualified names with a prefix, of one namespace or of all, in the order of their bytes: those greater
 * than `after`, up to `last`. Namespaces consist of letters, digits and hyphens, which all come before a tilde.
 */
export function qualifiedRange(namespace?: string): { readonly after: string; readonly last: string } {
  if (namespace === undefined) return { after: mark, last: `${mark}~` };
  return { after: `${mark}${namespace}/`, last: `${mark}${namespace}0` };
}

export function isNamespace(name: unknown): name is string {
  return typeof name === "string" && namespaceForm.test(name);
}

/** `OPTION_INVALID` unless it is the name of a namespace. */
export function checkNamespace(name: unknown): string {
  if (isNamespace(name)) return name;
  throw new EngineError(
    "OPTION_INVALID",
    `a namespace is named with 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end, got ${preview(name)}`,
  );
}

/** True if a text that a user gave begins with the mark, which only the engine writes. */
export function hasMark(name: unknown): boolean {
  return typeof name === "string" && name.charCodeAt(0) === markCode;
}

/** `OPTION_INVALID` if a name that a user gave begins with the mark. `what` begins the sentence: "an instance id". */
export function refuseMark(what: string, name: unknown): void {
  if (hasMark(name)) throw new EngineError("OPTION_INVALID", markProblem(what, name));
}

export function markProblem(what: string, name: unknown): string {
  return `${what} must not begin with "${mark}", which marks namespaces inside the engine, got ${preview(name)}; a namespace is chosen by the token, the header X-Heddle-Namespace or engine.inNamespace()`;
}

/** The place of the slash after the mark and a namespace, which contains no slash; not above 0 if there is no prefix. */
function prefixEnd(qualified: string): number {
  return qualified.charCodeAt(0) === markCode ? qualified.indexOf("/") : 0;
}
