import { isDeepStrictEqual } from "node:util";
import { EngineError } from "../base/error.ts";
import type { DomainRow, JobRow, Store } from "../stores/store.ts";
import { inShape } from "./export-line.ts";
import type { ImportLedger } from "./import-ledger.ts";
import { InstanceDigest } from "./instance-digest.ts";
import type { TargetStore } from "./target-store.ts";

/** Reads everything that was written. `STORE_CORRUPT` with what is not as it should be. */
export async function readBack(
  target: TargetStore,
  ledger: ImportLedger,
  rows: { jobs: readonly JobRow[]; domains: readonly DomainRow[] },
): Promise<void> {
  await readInstances(target, ledger);
  await readDefinitions(target.store, ledger);
  await readDocuments(target.store, ledger);
  const jobs = new Map((await target.store.loadJobs()).map((row) => [row.id, row]));
  for (const row of rows.jobs) {
    const found = jobs.get(row.id);
    if (!isDeepStrictEqual(found && inShape("jobs", found), inShape("jobs", row))) throw differs(`job "${row.id}"`);
  }
  const domains = new Map((await target.store.loadDomains()).map((row) => [row.name, row]));
  for (const row of rows.domains) {
    const found = domains.get(row.name);
    if (!isDeepStrictEqual(found && inShape("domains", found), inShape("domains", row))) {
      throw differs(`domain "${row.name}"`);
    }
  }
}

async function readInstances({ contents }: TargetStore, ledger: ImportLedger): Promise<void> {
  let count = 0;
  for await (const { kind, row, parts } of contents.instances()) {
    const digest = new InstanceDigest(kind, row);
    for await (const part of parts) digest.add(part.kind, part.rows);
    if (digest.close().sha256 !== ledger.digestOf(row.key)) throw differs(`instance "${row.id}"`);
    count++;
  }
  const { written } = ledger.counts;
  if (count !== written) throw differs(`the number of instances, ${count} instead of ${written},`);
}

async function readDefinitions(store: Store, ledger: ImportLedger): Promise<void> {
  for (const { row, isLatest } of ledger.definitions()) {
    const { name, version, spec } = row;
    const found = await store.findDefinition(name, version);
    if (found?.spec !== spec) throw differs(`version ${version} of workflow "${name}"`);
    if (isLatest && (await store.findLatestDefinition(name))?.version !== version) {
      throw differs(`the newest version of workflow "${name}"`);
    }
  }
}

async function readDocuments(store: Store, ledger: ImportLedger): Promise<void> {
  for (const { kind, name, at, body } of ledger.documents()) {
    const found = await store.findDocument(kind, name);
    if (found?.body !== body || found.at !== at) throw differs(`the ${kind} "${name}"`);
  }
}

function differs(what: string): EngineError {
  return new EngineError(
    "STORE_CORRUPT",
    `the import failed: ${what} does not come back from the store as it was written to it`,
  );
}
