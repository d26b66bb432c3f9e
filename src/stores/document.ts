import type { DocumentRow } from "./store.ts";

/** Returns whether a document is stored already, because it was sent before and the answer was lost. */
export function isSameDocument(there: DocumentRow | undefined, document: DocumentRow): boolean {
  return there !== undefined && there.revision === document.revision && there.body === document.body;
}
