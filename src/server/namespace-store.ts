import { defaultNamespace, localName, namespaceOf, qualify, qualifiedRange } from "../base/namespace.ts";
import type { DocumentRow, Store } from "../stores/store.ts";

/** The methods of a store whose rows have names that belong to a namespace. */
export type NamespaceStore = Pick<
  Store,
  | "clusters"
  | "findDocument"
  | "listDocuments"
  | "saveDocument"
  | "deleteDocument"
  | "saveDefinitions"
  | "findDefinition"
  | "appendLines"
  | "listLines"
  | "deleteLines"
>;

/** A store as one namespace sees it: names of documents, definitions and topics are local. */
export function namespaceStore(store: Store, namespace: string): NamespaceStore {
  const qualified = (name: string): string => qualify(namespace, name);
  return {
    clusters: store.clusters,
    findDocument: async (kind, name) => localRow(await store.findDocument(kind, qualified(name))),
    listDocuments: (kind, page) => listDocuments(store, namespace, { kind, ...page }),
    saveDocument: (row) => store.saveDocument({ ...row, name: qualified(row.name) }),
    deleteDocument: (kind, name, revision) => store.deleteDocument(kind, qualified(name), revision),
    saveDefinitions: (rows) => store.saveDefinitions(rows.map((row) => ({ ...row, name: qualified(row.name) }))),
    findDefinition: async (name, version) => localRow(await store.findDefinition(qualified(name), version)),
    appendLines: (lines) => store.appendLines(lines.map((line) => ({ ...line, topic: qualified(line.topic) }))),
    listLines: async (topic, page) => {
      const lines = await store.listLines(qualified(topic), page);
      return lines.map((line) => ({ ...line, topic }));
    },
    deleteLines: (topicPrefix, before) => store.deleteLines(qualified(topicPrefix), before),
  };
}

/** The namespaces besides `default` that have documents of a kind; one read for each. */
export async function listNamespaces(store: Pick<Store, "listDocuments">, kind: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = qualifiedRange().after; ;) {
    const [row] = await store.listDocuments(kind, { after, limit: 1 });
    if (row === undefined || row.name > qualifiedRange().last) return found;
    const namespace = namespaceOf(row.name);
    if (namespace !== defaultNamespace) found.push(namespace);
    after = qualifiedRange(namespace).last;
  }
}

interface DocumentPage {
  readonly kind: string;
  readonly after?: string;
  readonly limit: number;
}

/** Reads the documents of one namespace only: qualified names of a namespace stand together. */
async function listDocuments(
  store: Pick<Store, "listDocuments">,
  namespace: string,
  { kind, after, limit }: DocumentPage,
): Promise<DocumentRow[]> {
  if (namespace !== defaultNamespace) {
    const from = after === undefined ? qualifiedRange(namespace).after : qualify(namespace, after);
    const rows = await store.listDocuments(kind, { after: from, limit });
    return rows.filter(({ name }) => namespaceOf(name) === namespace).map((row) => localRow(row));
  }
  const all = qualifiedRange();
  const rows = await store.listDocuments(kind, { ...(after !== undefined && { after }), limit });
  const own = rows.filter(({ name }) => name <= all.after || name > all.last);
  if (own.length === rows.length) return rows;
  const last = rows.at(-1)?.name ?? "";
  if (own.length > 0 && last > all.last) {
    return [...own, ...(await store.listDocuments(kind, { after: last, limit: limit - own.length }))];
  }
  const rest = await store.listDocuments(kind, { after: all.last, limit: limit - own.length });
  return [...own, ...rest];
}

function localRow<Row extends { readonly name: string } | undefined>(row: Row): Row {
  return row === undefined ? row : { ...row, name: localName(row.name) };
}
