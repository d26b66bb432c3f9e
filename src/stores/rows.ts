import { preview } from "../base/preview.ts";
import type { EndStatus, InstanceStatus } from "../kernel/status.ts";
import type {
  DefinitionRow,
  DocumentRow,
  DomainRow,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  InstanceSummary,
  JobRow,
  LineRow,
  MailboxRow,
  OffsetRow,
  MemberRow,
  OutboxRow,
  RequestRow,
  SavedDefinition,
  ShardClaim,
  ShardRow,
} from "./store.ts";
import { DamagedRow } from "./damaged-row.ts";
import { fromDisk } from "./text.ts";

const rowKeys = ["shard", "instance", "key", "id", "task", "turn", "kind", "name", "workflow", "number", "topic"];

function isKey(value: unknown): boolean {
  return typeof value === "number" || (typeof value === "string" && value.length <= 200);
}

const endStatuses: Readonly<Record<EndStatus, true>> = { Success: true, Failed: true, Terminated: true };
const instanceStatuses: Readonly<Record<InstanceStatus, true>> = {
  Ready: true,
  Running: true,
  Paused: true,
  ...endStatuses,
};

/** Reads a row of this table, and names the table where one is damaged. */
function rowOf<Row>(table: string, read: (row: Columns) => Row): (row: Columns) => Row {
  return (row) => {
    try {
      return read(row);
    } catch (error) {
      if (error instanceof DamagedRow) throw new DamagedRow(`table ${table}, ${error.damage}`);
      throw error;
    }
  };
}

/** A row as a driver gives it: every database's queries name their columns as the fields of the store's rows. */
export class Columns {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  number(name: string): number {
    const value = this.#values[name];
    if (typeof value !== "number") throw this.damaged(name, "a number");
    return value;
  }

  numberOrNull(name: string): number | null {
    return this.#values[name] === null ? null : this.number(name);
  }

  /** Reads a boolean; some databases keep 0 and 1 instead. */
  boolean(name: string): boolean {
    const value = this.#values[name];
    return typeof value === "boolean" ? value : this.number(name) === 1;
  }

  text(name: string): string {
    return fromDisk(this.word(name));
  }

  textOrNull(name: string): string | null {
    return this.#values[name] === null ? null : this.text(name);
  }

  /** Reads a word of our own, which needs no escapes. */
  word(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string") throw this.damaged(name, "text");
    return value;
  }

  /** Reads a word of a closed list. */
  oneOf<Word extends string>(name: string, words: Readonly<Record<Word, unknown>>): Word {
    const word = this.word(name);
    if (!Object.hasOwn(words, word)) throw this.damaged(name, `one of ${Object.keys(words).join(", ")}`);
    return word as Word;
  }

  /** Names the row by whichever of its keys can still be read. */
  damaged(column: string, expected: string): DamagedRow {
    const keys = rowKeys.filter((key) => key !== column && isKey(this.#values[key]));
    const where = keys.map((key) => `${key} ${preview(this.#values[key])}`).join(", ");
    const holds = `column ${column} holds ${preview(this.#values[column])} instead of ${expected}`;
    return new DamagedRow(where === "" ? holds : `${holds} (${where})`);
  }
}

/** Converts the row of a shard before a claim to the claim's result. */
/** The shard as it was before a claim. */
export const toClaimed = rowOf("shard", (before: Columns): Omit<ShardClaim, "epoch" | "incarnation"> => {
  return {
    lastBatch: before.number("lastBatch"),
    lastKey: before.number("lastKey"),
    released: before.boolean("released"),
    previousOwner: before.text("owner"),
  };
});

export const toShard = rowOf("shard", (row: Columns): ShardRow => {
  return {
    shard: row.number("shard"),
    epoch: row.number("epoch"),
    owner: row.text("owner"),
    lastBatch: row.number("lastBatch"),
    released: row.boolean("released"),
  };
});

export const toMember = rowOf("member", (row: Columns): MemberRow => {
  return {
    id: row.text("id"),
    address: row.text("address"),
    about: row.text("about"),
    heartbeat: row.number("heartbeat"),
  };
});

export const toInstance = rowOf("instance", (row: Columns): InstanceRow => {
  return {
    key: row.number("key"),
    id: row.text("id"),
    workflow: row.text("workflow"),
    version: row.text("version"),
    status: row.oneOf("status", instanceStatuses),
    generation: row.number("generation"),
    wakeAt: row.numberOrNull("wakeAt"),
    active: row.boolean("active"),
    waitingTasks: row.number("waitingTasks"),
    createdAt: row.number("createdAt"),
    updatedAt: row.number("updatedAt"),
    quarantined: row.textOrNull("quarantined"),
    app: row.textOrNull("app"),
    history: row.textOrNull("history"),
  };
});

export const toFinished = rowOf("finished", (row: Columns): FinishedRow => {
  return {
    key: row.number("key"),
    id: row.text("id"),
    workflow: row.text("workflow"),
    version: row.text("version"),
    status: row.oneOf("status", endStatuses),
    generation: row.number("generation"),
    reason: row.textOrNull("reason"),
    createdAt: row.number("createdAt"),
    endedAt: row.number("endedAt"),
    tasks: row.number("tasks"),
    tasksFailed: row.number("tasksFailed"),
    app: row.textOrNull("app"),
    history: row.textOrNull("history"),
  };
});

export const toSummary = rowOf("instance", (row: Columns): InstanceSummary => {
  return {
    key: row.number("key"),
    id: row.text("id"),
    workflow: row.text("workflow"),
    version: row.text("version"),
    status: row.oneOf("status", instanceStatuses),
    generation: row.number("generation"),
    createdAt: row.number("createdAt"),
    endedAt: row.numberOrNull("endedAt"),
    reason: row.textOrNull("reason"),
    quarantined: row.textOrNull("quarantined"),
    app: row.textOrNull("app"),
  };
});

export const toHistory = rowOf("history", (row: Columns): HistoryRow => {
  return {
    instance: row.number("instance"),
    turn: row.number("turn"),
    firstEvent: row.number("firstEvent"),
    at: row.number("at"),
    events: row.text("events"),
  };
});

export const toOutbox = rowOf("outbox", (row: Columns): OutboxRow => {
  return {
    source: row.number("source"),
    target: row.number("target"),
    number: row.number("number"),
    body: row.text("body"),
  };
});

export const toOffset = rowOf("inbound_offset", (row: Columns): OffsetRow => {
  return { shard: row.number("shard"), source: row.number("source"), number: row.number("number") };
});

export const toSent = rowOf("sent", (row: Columns): { target: number; number: number } => {
  return { target: row.number("target"), number: row.number("number") };
});

export const toRequest = rowOf("request", (row: Columns): RequestRow => {
  return {
    shard: row.number("shard"),
    idempotencyKey: row.text("idempotencyKey"),
    at: row.number("at"),
    refusal: row.textOrNull("refusal"),
  };
});

export const toMailboxRow = rowOf("mailbox", (row: Columns): MailboxRow => {
  return { id: row.number("id"), mailbox: row.text("mailbox"), body: row.text("body") };
});

export const toDomain = rowOf("domain", (row: Columns): DomainRow => {
  return { name: row.text("name"), size: row.number("size"), priority: row.number("priority") };
});

export const toDefinition = rowOf("definition", (row: Columns): DefinitionRow => {
  return {
    name: row.text("name"),
    version: row.text("version"),
    spec: row.text("spec"),
    createdAt: row.number("createdAt"),
  };
});

export const toSavedDefinition = rowOf("definition", (row: Columns): SavedDefinition => {
  return { saveNumber: row.number("saveNumber"), ...toDefinition(row) };
});

export const toDocument = rowOf("document", (row: Columns): DocumentRow => {
  return {
    kind: row.text("kind"),
    name: row.text("name"),
    revision: row.number("revision"),
    at: row.number("at"),
    body: row.text("body"),
  };
});

export const toLine = rowOf("log_line", (row: Columns): LineRow => {
  return { number: row.number("number"), topic: row.text("topic"), at: row.number("at"), body: row.text("body") };
});

export const toJob = rowOf("job", (row: Columns): JobRow => {
  return {
    id: row.text("id"),
    name: row.text("name"),
    signature: row.text("signature"),
    parameters: row.text("parameters"),
    codePath: row.textOrNull("codePath"),
    sourceHash: row.text("sourceHash"),
    createdAt: row.number("createdAt"),
    updatedAt: row.number("updatedAt"),
    missing: row.boolean("missing"),
  };
});
