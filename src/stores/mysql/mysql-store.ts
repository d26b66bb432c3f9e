import { CommitOrder } from "../commit-order.ts";
import type { LeaseConnectionSource } from "../lease-connection.ts";
import { mailboxesOf } from "../mailbox.ts";
import { Columns } from "../rows.ts";
import { integerKey, logLineColumns } from "../sql/columns.ts";
import { checkConnections, connectionsDefault, type Limits, limitsDefault } from "../sql/connections.ts";
import { SqlStore } from "../sql/sql-store.ts";
import type { Batch } from "../store.ts";
import { type MysqlAddress, parseAddress } from "./address.ts";
import type { Result } from "./connection.ts";
import { isNotEnded, openingError, operationError } from "./faults.ts";
import { sql, text, whole, wholeOrNull } from "./literal.ts";
import { MysqlDriver } from "./mysql-driver.ts";
import { transaction } from "./script.ts";
import { findNamed } from "./session-name.ts";
import { statements } from "./statement.ts";
import { writeChanges } from "./write-changes.ts";
import { land, writeFences } from "./write-fences.ts";

/** More log lines at a time could take longer than a call may. */
const logLinesPerStepMax = 5000;

export interface MysqlOptions {
  readonly url: string;
  /** Maximum number of connections. */
  readonly connections?: number | undefined;
  readonly limits?: Limits | undefined;
  /** True if this process has opened and checked the database already. */
  readonly isChecked?: boolean | undefined;
}

/** A store in a MySQL or MariaDB database, for any number of members. */
export class MysqlStore extends SqlStore<MysqlDriver> {
  readonly clusters = "always";
  readonly lanes: number = 1;
  readonly place: string;
  readonly leaseConnection: LeaseConnectionSource;
  readonly #address: MysqlAddress;
  readonly #size: number;
  readonly #limits: Limits;
  readonly #isChecked: boolean;
  readonly #order = new CommitOrder();

  constructor(options: MysqlOptions) {
    super();
    const { url, connections = connectionsDefault, limits = limitsDefault } = options;
    this.leaseConnection = {
      module: import.meta.url,
      className: "MysqlStore",
      options: { ...options, isChecked: true },
    };
    this.#isChecked = options.isChecked ?? false;
    this.#address = parseAddress(url);
    this.place = this.#address.place;
    this.#size = connections;
    this.#limits = limits;
    checkConnections(connections);
  }

  async openDriver(): Promise<MysqlDriver> {
    const options = { address: this.#address, size: this.#size, limits: this.#limits };
    return this.#isChecked ? await MysqlDriver.connect(options) : await MysqlDriver.open(options);
  }

  toOpeningError(error: unknown): Error {
    return openingError(error, this.#address);
  }

  toOperationError(error: unknown): Error {
    return operationError(error, this.place);
  }

  override async join(member: { readonly id: string; readonly address: string }): Promise<void> {
    await super.join(member);
    if (this.isOpen) this.driver.nameSessions(member.id);
  }

  async removeMember(member: string, ifHeartbeat?: number): Promise<boolean> {
    const { driver } = this;
    return await this.translateErrors(async () => {
      if (ifHeartbeat !== undefined && member !== driver.member) await this.#endCommits(driver, member, ifHeartbeat);
      const [, removed] = await driver.send("heartbeats", [
        "START TRANSACTION",
        statements.get("delete-member").with(text(member), wholeOrNull(ifHeartbeat ?? null)),
        "SET @heddle_removed = ROW_COUNT()",
        ...mailboxesOf(member).map((mailbox) => statements.get("delete-mailbox").with(text(mailbox))),
        "COMMIT",
      ]);
      return removed !== undefined && !Array.isArray(removed) && removed.affectedRows === 1;
    });
  }

  /**
   * A commit that waits in the server, or whose client stalled in the middle of it, keeps its row locks. So the member's
   * connections for commits are killed before the member is removed: if that fails, the next heartbeat tries again. A
   * member that is alive after all loses an answer, and sends the commit again. If the server does not allow it, because
   * members log in as different users, the locks are waited for.
   */
  async #endCommits(driver: MysqlDriver, member: string, ifHeartbeat: number): Promise<void> {
    const { database } = this.#address;
    const [found] = await driver.send("heartbeats", [findNamed({ member, database, ifHeartbeat })]);
    for (const id of idsIn(found)) {
      await driver.send("heartbeats", [sql`KILL ${whole(Number(id))}`]).catch((error: unknown) => {
        if (!isNotEnded(error)) throw error;
      });
    }
  }

  async commit({ fences, changes }: Batch): Promise<void> {
    const { driver } = this;
    // The packets contain the whole batch: later changes of it by the caller have no effect.
    const packets = transaction(writeFences(fences), writeChanges(changes), driver.packetBytesMax);
    const deadline = driver.deadlineOf("commits");
    const shards = fences.map(({ shard }) => shard);
    await this.translateErrors(() =>
      this.#order.run(shards, () =>
        driver.use("commits", (connection) => land(connection, { packets, fences, deadline }), deadline),
      ),
    );
  }

  /** Locks the log first: numbers of lines must become visible in their order. */
  override async appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void> {
    const { driver } = this;
    await this.translateErrors(() => driver.writeAfter(["lock-log-lines"], "append-lines", logLineColumns, lines));
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    for (let from = Number.MIN_SAFE_INTEGER; ;) {
      const found = await this.all("find-old-lines", [topicPrefix, before, from, logLinesPerStepMax], (line) => ({
        number: line.number("number"),
        at: line.number("at"),
      }));
      await this.#deleteLines(found.map(({ number }) => number).sort((a, b) => a - b));
      if (found.length < logLinesPerStepMax) return;
      from = found.at(-1)?.at ?? from;
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    for (;;) {
      const numbers = await this.all("find-topic-lines", [topic, logLinesPerStepMax], (line) => line.number("number"));
      await this.#deleteLines(numbers);
      if (numbers.length < logLinesPerStepMax) return;
    }
  }

  async #deleteLines(numbers: readonly number[]): Promise<void> {
    const { driver } = this;
    await this.translateErrors(() => driver.write("delete-lines", integerKey, numbers));
  }
}

/** Ids of connections, in one text with commas; no row if the member has moved on. */
function idsIn(result: Result | undefined): string[] {
  const [row] = Array.isArray(result) ? result : [];
  return row === undefined ? [] : new Columns(row).word("ids").split(",").filter(Boolean);
}
