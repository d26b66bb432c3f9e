import { createHash } from "node:crypto";
import type { Mail, Notifier, NotifierOptions } from "../notifier.ts";
import { Columns, toMailboxRow } from "../rows.ts";
import { mailboxColumns } from "../sql/columns.ts";
import { toDisk } from "../text.ts";
import { texts } from "./array-parameter.ts";
import { Connection, type Driver } from "./connection.ts";
import { sessionSettings } from "./database.ts";
import type { PostgresStatements } from "./postgres-statements.ts";
import { arraysOf } from "./wire-columns.ts";

export interface PostgresNotifierParts {
  readonly client: Driver;
  readonly statements: PostgresStatements;
  readonly url: string;
  readonly schema: string;
  /** Timeout of every call. */
  readonly limitMs: number;
}

/**
 * LISTEN and NOTIFY as a doorbell. A notification carries nothing: the messages are rows of the table `mailbox`.
 *
 * NOTIFY takes a lock of the whole database until its transaction has committed, so it must never wait for a disk: it has
 * a session of its own, which does not wait for its commits (`synchronous_commit` is off), and no group commit has a NOTIFY.
 */
export class PostgresNotifier implements Notifier {
  readonly lost: Promise<unknown>;
  readonly #connection: Connection;
  readonly #parts: PostgresNotifierParts;
  readonly #mailbox: string;

  private constructor(connection: Connection, parts: PostgresNotifierParts, mailbox: string) {
    this.#connection = connection;
    this.#parts = parts;
    this.#mailbox = mailbox;
    this.lost = new Promise((resolve) => {
      connection.onLost(() => resolve(new Error("the connection to PostgreSQL was lost")));
    });
  }

  /** Resolves when the session listens. Throws the client's errors. */
  static async open(parts: PostgresNotifierParts, options: NotifierOptions): Promise<PostgresNotifier> {
    const { client, url, schema, limitMs } = parts;
    const { mailbox, onNotified } = options;
    const settings = `${sessionSettings({ schema, name: "heddle notifications", limitMs })}
      SET synchronous_commit TO off;
      LISTEN ${channelOf(schema, mailbox)};`;
    const connection = await Connection.open(client, { url, limitMs, settings, onNotified });
    return new PostgresNotifier(connection, parts, mailbox);
  }

  async post(mails: readonly Mail[]): Promise<void> {
    const { statements, schema, limitMs } = this.#parts;
    const channels = new Set(mails.map(({ mailbox }) => channelOf(schema, mailbox)));
    const insert = { statement: statements.get("insert-mailbox-row"), values: arraysOf(mailboxColumns, mails) };
    const notify = {
      statement: statements.get("notify-channels"),
      values: [texts([...channels], (channel) => channel)],
    };
    await this.#connection.run([insert, notify], limitMs);
  }

  async take(limit: number): Promise<string[]> {
    const { statements, limitMs } = this.#parts;
    const take = { statement: statements.get("take-mailbox-rows"), values: [toDisk(this.#mailbox), limit] };
    const [rows = []] = await this.#connection.run([take], limitMs);
    return rows
      .map((row) => toMailboxRow(new Columns(row)))
      .toSorted((a, b) => a.id - b.id)
      .map(({ body }) => body);
  }

  async close(): Promise<void> {
    await this.#connection.end();
  }
}

/** A channel is an identifier of up to 63 bytes; names of mailboxes are longer, and have characters of all kinds. */
function channelOf(schema: string, mailbox: string): string {
  return `heddle_${createHash("sha256").update(`${schema} ${mailbox}`, "utf16le").digest("hex").slice(0, 32)}`;
}
