import { assert } from "../base/assert.ts";
import type { EndStatus, InstanceStatus, TaskStatus } from "../kernel/status.ts";
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
  MailRow,
  MarkRow,
  MemberRow,
  OutboxRow,
  RequestRow,
  SavedDefinition,
  ShardClaim,
  ShardRow,
  TaskRow,
} from "./store.ts";
import { fromDisk } from "./text.ts";

/** A row as a driver gives it: every database's queries name their columns as the fields of the store's rows. */
export class Columns {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  number(name: string): number {
    const value = this.#values[name];
    assert(typeof value === "number", `column ${name} holds a number`);
    return value;
  }

  numberOrNull(name: string): number | null {
    return this.#values[name] === null ? null : this.number(name);
  }

  /** Some databases have no truth values, and keep 0 and 1. */
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

  /** A word of our own, which needs no escapes. */
  word(name: string): string {
    const value = this.#values[name];
    assert(typeof value === "string", `column ${name} holds text`);
    return value;
  }
}

/** What a claim gives that found the shard so. */
export function toClaim(before: Columns): ShardClaim {
  return {
    epoch: before.number("epoch") + 1,
    batch: before.number("batch"),
    lastKey: before.number("lastKey"),
    clean: before.boolean("clean"),
    previousOwner: before.text("owner"),
  };
}

export function toShard(row: Columns): ShardRow {
  return {
    shard: row.number("shard"),
    epoch: row.number("epoch"),
    owner: row.text("owner"),
    released: row.boolean("released"),
  };
}

export function toMember(row: Columns): MemberRow {
  return { id: row.text("id"), address: row.text("address"), beat: row.number("beat") };
}

export function toInstance(row: Columns): InstanceRow {
  return {
    key: row.number("key"),
    id: row.text("id"),
    workflow: row.text("workflow"),
    version: row.text("version"),
    status: row.word("status") as InstanceStatus,
    generation: row.number("generation"),
    wake: row.numberOrNull("wake"),
    active: row.boolean("active"),
    waiting: row.number("waiting"),
    createdAt: row.number("createdAt"),
    updatedAt: row.number("updatedAt"),
    parked: row.textOrNull("parked"),
  };
}

export function toFinished(row: Columns): FinishedRow {
  return {
    key: row.number("key"),
    id: row.text("id"),
    workflow: row.text("workflow"),
    version: row.text("version"),
    status: row.word("status") as EndStatus,
    generation: row.number("generation"),
    reason: row.textOrNull("reason"),
    createdAt: row.number("createdAt"),
    endedAt: row.number("endedAt"),
    tasks: row.number("tasks"),
    tasksFailed: row.number("tasksFailed"),
  };
}

export function toSummary(row: Columns): InstanceSummary {
  return {
    key: row.number("key"),
    id: row.text("id"),
    workflow: row.text("workflow"),
    version: row.text("version"),
    status: row.word("status") as InstanceStatus,
    generation: row.number("generation"),
    createdAt: row.number("createdAt"),
    endedAt: row.numberOrNull("endedAt"),
    reason: row.textOrNull("reason"),
    parked: row.textOrNull("parked"),
  };
}

export function toHistory(row: Columns): HistoryRow {
  return {
    instance: row.number("instance"),
    turn: row.number("turn"),
    firstEvent: row.number("firstEvent"),
    at: row.number("at"),
    events: row.text("events"),
  };
}

export function toTask(row: Columns): TaskRow {
  return {
    instance: row.number("instance"),
    task: row.number("task"),
    attempt: row.number("attempt"),
    name: row.text("name"),
    type: row.number("type"),
    status: row.word("status") as TaskStatus,
    worker: row.textOrNull("worker"),
    startedAt: row.numberOrNull("startedAt"),
    endedAt: row.numberOrNull("endedAt"),
    retryCount: row.number("retryCount"),
    error: row.textOrNull("error"),
  };
}

export function toOutbox(row: Columns): OutboxRow {
  return {
    source: row.number("source"),
    target: row.number("target"),
    number: row.number("number"),
    body: row.text("body"),
  };
}

export function toMark(row: Columns): MarkRow {
  return { shard: row.number("shard"), source: row.number("source"), number: row.number("number") };
}

export function toSent(row: Columns): { target: number; number: number } {
  return { target: row.number("target"), number: row.number("number") };
}

export function toRequest(row: Columns): RequestRow {
  return {
    shard: row.number("shard"),
    key: row.text("key"),
    at: row.number("at"),
    refusal: row.textOrNull("refusal"),
  };
}

export function toMail(row: Columns): MailRow {
  return { id: row.number("id"), box: row.text("box"), body: row.text("body") };
}

export function toDomain(row: Columns): DomainRow {
  return { name: row.text("name"), size: row.number("size"), priority: row.number("priority") };
}

export function toDefinition(row: Columns): DefinitionRow {
  return {
    name: row.text("name"),
    version: row.text("version"),
    spec: row.text("spec"),
    createdAt: row.number("createdAt"),
  };
}

export function toSavedDefinition(row: Columns): SavedDefinition {
  return { number: row.number("number"), ...toDefinition(row) };
}

export function toDocument(row: Columns): DocumentRow {
  return {
    kind: row.text("kind"),
    name: row.text("name"),
    revision: row.number("revision"),
    at: row.number("at"),
    body: row.text("body"),
  };
}

export function toLine(row: Columns): LineRow {
  return { number: row.number("number"), topic: row.text("topic"), at: row.number("at"), body: row.text("body") };
}

export function toJob(row: Columns): JobRow {
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
}
