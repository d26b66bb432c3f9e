import { isDeepStrictEqual } from "node:util";
import { hasCode } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { shardOfKey } from "../stores/instance-key.ts";
import type { DocumentRow, DomainRow, JobRow, Store } from "../stores/store.ts";
import { refuseOtherOrder } from "./definition-order.ts";
import type { Closed, PartKind, RowCounts, Rows, RowsLine } from "./export-line.ts";
import { ImportLedger } from "./import-ledger.ts";
import { InstanceDigest } from "./instance-digest.ts";
import { LineReader } from "./line-reader.ts";
import { MovedMessages } from "./moved-messages.ts";
import { readBack } from "./read-back.ts";
import { messageWithKeys, withKeys } from "./references.ts";
import { type Ownership, takenOver, type TargetStore } from "./target-store.ts";

/** Writes the lines of one export into a store. */
export class ImportRun {
  readonly #target: TargetStore;
  readonly #reader = new LineReader();
  readonly #ledger = new ImportLedger();
  readonly #messages: MovedMessages;
  readonly #jobs: JobRow[] = [];
  readonly #domains: DomainRow[] = [];
  readonly #keyOf = (given: number): number => this.#ledger.keyOf(given);
  /** The instance whose parts are being read. */
  #open: OpenInstance | undefined;
  #isNumbered = false;
  #last: Ownership = { owner: "", released: true };

  private constructor(target: TargetStore, messages: MovedMessages) {
    this.#target = target;
    this.#messages = messages;
  }

  static async into(target: TargetStore): Promise<ImportRun> {
    return new ImportRun(target, await MovedMessages.into(target));
  }

  /** Last ownership of the exported store. */
  get last(): Ownership {
    return this.#last;
  }

  async take(text: string): Promise<void> {
    await this.#withLine(() => this.#take(text));
  }

  /** Reads everything back after the last line, and returns the number of rows. The store is not released yet. */
  async complete(): Promise<RowCounts> {
    return await this.#withLine(() => this.#complete());
  }

  /** Adds the line to `STORE_DATA`. Rows are written some time after their line was read. */
  async #withLine<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, "STORE_DATA")) throw error;
      throw this.#reader.wrong(`or one shortly before it holds what the store refuses (${error.message})`);
    }
  }

  async #take(text: string): Promise<void> {
    const line = this.#reader.read(text);
    if (line.kind === "header") this.#last = { owner: line.owner, released: line.released };
    else if (line.kind === "closed") this.#close(line);
    else if (line.kind === "history" || line.kind === "payloads") {
      await this.#takePart(line, text.length);
    } else {
      if (this.#open !== undefined) throw this.#reader.wrong(`comes before instance "${this.#open.id}" is complete`);
      if (line.kind !== "end") await this.#takeRows(line, text.length);
    }
  }

  async #complete(): Promise<RowCounts> {
    const { rows } = this.#reader;
    const { listed, written } = this.#ledger.counts;
    if (listed !== written) throw this.#reader.wrong(`ends an export of ${written} instances that lists ${listed}`);
    await this.#writeShared();
    await this.#askGates();
    await this.#target.flush();
    await readBack(this.#target, this.#ledger, { jobs: this.#jobs, domains: this.#domains });
    await this.#messages.readBack();
    return rows;
  }

  /** Writes rows that a failed import would not remove, so they are written after all lines are verified. */
  async #writeShared(): Promise<void> {
    await refuseOtherOrder(this.#target.store, this.#ledger);
    await this.#target.store.saveJobs(this.#jobs);
    await this.#target.put(0, { domains: this.#domains }, 0);
    for (const { row } of this.#ledger.definitions()) {
      await this.#target.put(0, { definitions: [row] }, row.spec.length);
    }
    await this.#target.flush();
    for (const row of this.#ledger.documents()) await replaceDocument(this.#target.store, row);
  }

  close(): void {
    this.#ledger.close();
  }

  async #takeRows(line: Exclude<RowsLine, { kind: PartKind }>, length: number): Promise<void> {
    switch (line.kind) {
      case "jobs":
        return void this.#jobs.push(...line.rows);
      case "domains":
        return void this.#domains.push(...line.rows);
      case "documents":
        for (const row of line.rows) this.#ledger.addDocument(row);
        return;
      case "keys":
        for (const row of line.rows) this.#list(row);
        return;
      case "unfinished":
        for (const row of line.rows) await this.#beginUnfinished(row, length);
        return;
      case "finished":
        for (const row of line.rows) await this.#beginFinished(row, length);
        return;
      case "messages":
        for (const row of line.rows) await this.#takeMessage(row);
        return;
      case "definitions":
        for (const row of line.rows) this.#ledger.addDefinition(row);
    }
  }

  #list(row: Rows["keys"]): void {
    if (this.#isNumbered) throw this.#reader.wrong("lists instances after the first of them");
    if (this.#ledger.list(row, this.#target.shardOf(row.id))) return;
    throw this.#reader.wrong(`lists instance "${row.id}" a second time`);
  }

  /** Assigns keys, once all instances are listed. */
  #number(): void {
    if (this.#isNumbered) return;
    this.#isNumbered = true;
    this.#target.reserveKeys(this.#ledger.number(this.#target.lastKeys));
  }

  async #beginUnfinished(given: Rows["unfinished"], length: number): Promise<void> {
    const row = { ...given, key: this.#newKey(given) };
    this.#begin(row, new InstanceDigest("unfinished", given), new InstanceDigest("unfinished", row));
    if (row.status === "Ready" && row.quarantined === null) this.#ledger.addWaiting(row);
    await this.#target.put(shardOfKey(row.key), { instances: [{ ...row, history: null }] }, length);
  }

  async #beginFinished(given: Rows["finished"], length: number): Promise<void> {
    const row = { ...given, key: this.#newKey(given) };
    this.#begin(row, new InstanceDigest("finished", given), new InstanceDigest("finished", row));
    await this.#target.put(shardOfKey(row.key), { finished: [{ ...row, history: null }] }, length);
  }

  #newKey({ key: given, id }: { readonly key: number; readonly id: string }): number {
    this.#number();
    const key = this.#keyOf(given);
    if (key !== 0 && shardOfKey(key) === this.#target.shardOf(id)) return key;
    throw this.#reader.wrong(`has instance "${id}", which is not in the list of instances`);
  }

  #begin({ id, key }: { id: string; key: number }, given: InstanceDigest, written: InstanceDigest): void {
    this.#open = { id, key, line: this.#reader.number, given, written };
  }

  async #takePart(line: PartLine, length: number): Promise<void> {
    if (this.#open === undefined) throw this.#reader.wrong("belongs to no instance");
    const { key: instance, given, written } = this.#open;
    given.add(line.kind, line.rows);
    const part = line.kind === "history" ? { ...line, rows: line.rows.map((turn) => this.#turn(turn)) } : line;
    written.add(part.kind, part.rows);
    const rows = part.rows.map((row) => ({ instance, ...row }));
    await this.#target.put(shardOfKey(instance), { [part.kind]: rows }, length);
  }

  #turn(turn: Rows["history"]): Rows["history"] {
    return { ...turn, events: this.#readable(() => withKeys(turn.events, this.#keyOf)) };
  }

  #close(closed: Closed): void {
    if (this.#open === undefined) throw this.#reader.wrong("belongs to no instance");
    const { id, key, line, given, written } = this.#open;
    if (!isDeepStrictEqual(given.close(), closed)) {
      const lines = `lines ${line} to ${this.#reader.number}`;
      throw this.#reader.wrong(
        `shows that instance "${id}" is not as it was exported: ${lines} were altered, or some are missing`,
      );
    }
    if (!this.#ledger.recordWritten(key, written.close().sha256))
      throw this.#reader.wrong(`ends instance "${id}" a second time`);
    this.#open = undefined;
  }

  async #takeMessage({ source, body }: Rows["messages"]): Promise<void> {
    this.#number();
    const message = this.#readable(() => messageWithKeys(body, this.#keyOf));
    if (message.kind === "admit") this.#ledger.removeWaiting(message.to);
    await this.#messages.write(message, source);
  }

  /** Text that only Heddle writes was altered if it cannot be parsed. */
  #readable<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
      throw this.#reader.wrong("holds text that cannot be parsed, so it was altered");
    }
  }

  /** Applies for places at the gates. A member that is alone finds waiting instances by itself when it starts. */
  async #askGates(): Promise<void> {
    if (!this.#target.sharesInstances) return;
    for (const waiting of this.#ledger.waiting()) {
      const definition = await this.#target.store.findDefinition(waiting.workflow, waiting.version);
      const limit = definition && (JSON.parse(definition.spec) as DagSpec).maxInstances;
      if (limit !== undefined && limit.max > 0) await this.#messages.ask(waiting, limit);
    }
  }
}

/** Replaces the store's document of that name. Revisions belong to each store. */
async function replaceDocument(store: Store, row: DocumentRow): Promise<void> {
  const { revision = 0 } = (await store.findDocument(row.kind, row.name)) ?? {};
  if (!(await store.saveDocument({ ...row, revision: revision + 1 }))) throw takenOver();
}

type PartLine = Extract<RowsLine, { kind: PartKind }>;

interface OpenInstance {
  readonly id: string;
  readonly key: number;
  /** Number of its first line. */
  readonly line: number;
  /** Digests of the instance as exported, and as written with new keys. */
  readonly given: InstanceDigest;
  readonly written: InstanceDigest;
}
