import { isDeepStrictEqual } from "node:util";
import { EngineError } from "../base/error.ts";
import { movingDocuments, workflowDocument } from "../stores/document-kinds.ts";
import type { ClusterView, DocumentRow, Store } from "../stores/store.ts";
import { isImporter, refuseHalfImported } from "../stores/importer.ts";
import { DefinitionList } from "./definition-list.ts";
import { formatName, formatVersion, type Header } from "./export-line.ts";
import { InstanceDigest } from "./instance-digest.ts";
import { LineWriter } from "./line-writer.ts";
import { nestedInEvents, nestedInMessage } from "./references.ts";
import { refuseLiving, viewOf } from "./resting-store.ts";
import { withRetries } from "./retrying-store.ts";
import { StoreContents } from "./store-contents.ts";

const documentsPerPage = 20;

/**
 * Exports the data of a store as lines of JSON with their line breaks: jobs, domains, documents, instances with their
 * histories and payloads, messages they have not read, and definitions. The store must be open, and nobody may
 * run on it meanwhile. It is read and not changed, a page at a time.
 *
 * `STORE_LOCKED` if engines run on the store, or if one did before the last line: without that, the lines are not
 * taken by `importInstances`.
 */
export async function* exportInstances(store: Store): AsyncGenerator<string, void, void> {
  const from = withRetries(store);
  const before = await viewOf(from);
  refuseLiving(before, "exported");
  refuseHalfImported(before.shards);
  const definitions = new DefinitionList(from);
  try {
    const writer = new LineWriter();
    const shards = before.shards.map(({ shard }) => shard);
    const contents = new StoreContents(from, shards);
    yield writer.header(await headerOf(from, before));
    yield* writer.rows("jobs", await from.loadJobs());
    yield* writer.rows("domains", await from.loadDomains());
    for await (const page of documentsOf(from)) {
      yield* writer.rows("documents", page);
      for (const { kind, name } of page) if (kind === workflowDocument) await definitions.noteAll(name);
    }
    for await (const page of contents.keys()) yield* writer.rows("keys", page);
    yield* instanceLines(writer, contents, definitions);
    for await (const messages of contents.messages()) {
      for (const { body } of messages) for (const nested of nestedInMessage(body)) definitions.note(nested);
      yield* writer.rows("messages", messages);
    }
    for await (const row of definitions.rows()) yield* writer.rows("definitions", [row]);
    const after = await viewOf(from);
    if (!isDeepStrictEqual(after, before)) throw usedMeanwhile();
    yield writer.end();
  } finally {
    definitions.close();
  }
}

async function* documentsOf(store: Store): AsyncGenerator<DocumentRow[]> {
  for (const kind of movingDocuments) {
    for (let after: string | undefined; ;) {
      const page = await store.listDocuments(kind, { ...(after !== undefined && { after }), limit: documentsPerPage });
      after = page.at(-1)?.name;
      if (after === undefined) break;
      yield page;
    }
  }
}

async function headerOf(store: Store, { shards }: ClusterView): Promise<Omit<Header, "kind">> {
  const owners = new Set(shards.map(({ owner }) => owner));
  const [owner = ""] = owners;
  return {
    format: formatName,
    version: formatVersion,
    // A store in which a shard was ever claimed has settled how many there are, whatever is asked for.
    shards: shards.length === 0 ? 0 : await store.settleShardCount(shards.length),
    owner: owners.size === 1 && !isImporter(owner) ? owner : "",
    released: shards.every(({ released }) => released),
  };
}

async function* instanceLines(
  writer: LineWriter,
  contents: StoreContents,
  definitions: DefinitionList,
): AsyncGenerator<string> {
  for await (const { kind, row, parts } of contents.instances()) {
    const digest = new InstanceDigest(kind, row);
    definitions.note({ name: row.workflow, version: row.version });
    yield* writer.rows(kind, [row]);
    for await (const part of parts) {
      digest.add(part.kind, part.rows);
      yield* writer.rows(part.kind, part.rows);
      if (part.kind !== "history") continue;
      for (const { events } of part.rows) for (const nested of nestedInEvents(events)) definitions.note(nested);
    }
    yield writer.closedLine(digest.close());
  }
}

function usedMeanwhile(): EngineError {
  return new EngineError(
    "STORE_LOCKED",
    "the export is not usable, because an engine was started on the store meanwhile; stop it, and export again",
  );
}
