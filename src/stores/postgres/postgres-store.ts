import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import { CommitOrder } from "../commit-order.ts";
import type { LeaseConnectionSource } from "../lease-connection.ts";
import { mailboxesOf } from "../mailbox.ts";
import type { Notifier, NotifierOptions } from "../notifier.ts";
import {
  checkConnections,
  commitConnections,
  connectionsDefault,
  type Limits,
  limitsDefault,
} from "../sql/connections.ts";
import { SqlStore } from "../sql/sql-store.ts";
import type { Batch, Fence } from "../store.ts";
import { parseAddress, type PostgresAddress } from "./address.ts";
import { isFenceFault, isNoRight, openingError, operationError } from "./faults.ts";
import type { BoundStatement } from "./pipeline.ts";
import { PostgresDriver } from "./postgres-driver.ts";
import { sessionName } from "./session-name.ts";
import { writeChanges } from "./write-changes.ts";
import { isNextAfterAll, writeFences } from "./write-fences.ts";

const schemaDefault = "heddle";

/** A name that means the same with and without quotes. */
const schemaName = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

/** More log lines at a time could take longer than a call may. */
const logLinesPerStepMax = 5000;

export interface PostgresOptions {
  readonly url: string;
  /** The PostgreSQL schema with the tables; it is created if it is missing. */
  readonly schema?: string | undefined;
  /** Maximum number of connections. */
  readonly connections?: number | undefined;
  readonly limits?: Limits | undefined;
  /** True if this process has opened and checked the database already. */
  readonly isChecked?: boolean | undefined;
}

/** A store in a PostgreSQL database, for any number of members. Every call is one round trip and one transaction. */
export class PostgresStore extends SqlStore<PostgresDriver> {
  readonly clusters = "always";
  readonly lanes: number;
  readonly place: string;
  readonly leaseConnection: LeaseConnectionSource;
  readonly #address: PostgresAddress;
  readonly #schema: string;
  readonly #size: number;
  readonly #limits: Limits;
  readonly #isChecked: boolean;
  readonly #order = new CommitOrder();

  constructor(options: PostgresOptions) {
    super();
    const { url, schema, connections, limits } = options;
    this.leaseConnection = {
      module: import.meta.url,
      className: "PostgresStore",
      options: { ...options, isChecked: true },
    };
    this.#isChecked = options.isChecked ?? false;
    this.#address = parseAddress(url);
    this.place = this.#address.place;
    this.#schema = schema ?? schemaDefault;
    this.#size = connections ?? connectionsDefault;
    this.#limits = limits ?? limitsDefault;
    this.lanes = commitConnections(this.#size);
    if (!schemaName.test(this.#schema)) {
      throw new EngineError(
        "OPTION_INVALID",
        `a schema is named with small letters, digits and underscores, got ${JSON.stringify(schema)}`,
      );
    }
    checkConnections(this.#size);
  }

  async openDriver(): Promise<PostgresDriver> {
    const [address, schema, size, limits] = [this.#address, this.#schema, this.#size, this.#limits];
    const options = { address, schema, size, limits };
    return this.#isChecked ? await PostgresDriver.connect(options) : await PostgresDriver.open(options);
  }

  toOpeningError(error: unknown): Error {
    return openingError(error, this.#address, this.#schema);
  }

  toOperationError(error: unknown): Error {
    return operationError(error, this.place);
  }

  async openNotifier(options: NotifierOptions): Promise<Notifier> {
    return await this.translateErrors(() => this.driver.openNotifier(options));
  }

  override async join(member: { readonly id: string; readonly address: string }): Promise<void> {
    await super.join(member);
    if (this.isOpen) this.driver.nameSessions(member.id);
  }

  async removeMember(member: string, ifHeartbeat?: number): Promise<boolean> {
    if (ifHeartbeat !== undefined && member !== this.driver.member) await this.#endSessions(member, ifHeartbeat);
    const values = [member, ifHeartbeat ?? null, ...mailboxesOf(member)];
    const [removed] = await this.transaction("heartbeats", [{ name: "delete-member", values }]);
    return removed?.changes === 1;
  }

  /**
   * A stalled client keeps its row locks. So the member's sessions for commits are terminated before the member is
   * removed: if that fails, the next heartbeat tries again. A member that is alive after all loses an answer, and sends
   * the commit again. Without the right to terminate sessions, the locks are waited for.
   */
  async #endSessions(member: string, ifHeartbeat: number): Promise<void> {
    const step = { name: "end-sessions", values: [sessionName("commits", member), member, ifHeartbeat] } as const;
    try {
      await this.driver.transaction("heartbeats", [step]);
    } catch (error) {
      if (!isNoRight(error)) throw this.toOperationError(error);
    }
  }

  async commit(batch: Batch): Promise<void> {
    const { statements } = this.driver;
    const fences = [...batch.fences];
    assert(fences.length > 0, "a batch has a fence for each shard that it writes");
    const steps = [...writeFences(statements, fences), ...writeChanges(statements, batch.changes)];
    const shards = fences.map(({ shard }) => shard);
    await this.#order.run(shards, () => this.#commit(fences, steps));
  }

  async #commit(fences: readonly Fence[], steps: readonly BoundStatement[]): Promise<void> {
    const { driver } = this;
    try {
      await driver.run("commits", steps);
    } catch (error) {
      if (!isFenceFault(error)) throw this.toOperationError(error);
      const shards = { integers: fences.map(({ shard }) => shard) };
      const standings = await this.translateErrors(() => driver.all({ name: "load-standings", values: [shards] }));
      if (!isNextAfterAll(fences, standings)) return;
      throw new EngineError("STORE_UNAVAILABLE", "a batch came before the one that precedes it; send it again");
    }
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    for (let from = Number.MIN_SAFE_INTEGER; ;) {
      const values = [topicPrefix, before, from, logLinesPerStepMax];
      const [last] = await this.all("delete-lines", values, (row) => ({
        found: row.number("found"),
        at: row.number("lastAt"),
      }));
      assert(last !== undefined, "a count has a row");
      if (last.found < logLinesPerStepMax) return;
      from = last.at;
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    for (let found = logLinesPerStepMax; found === logLinesPerStepMax;) {
      [found = 0] = await this.all("delete-topic", [topic, logLinesPerStepMax], (row) => row.number("found"));
    }
  }
}
