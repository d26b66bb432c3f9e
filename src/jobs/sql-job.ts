import { z } from "zod";
import { defineJob, type Job } from "../authoring/job.ts";
import { JobFailure } from "./job-failure.ts";
import { inScope, type JobScope } from "./job-scope.ts";
import { isSecret, textOrReference, valueOrReference } from "./reference.ts";
import { defaultSecretRules, type SecretRules } from "./secret-rules.ts";
import { checkServer } from "./sql-address.ts";
import { runOnMysql } from "./sql-on-mysql.ts";
import { runOnPostgres } from "./sql-on-postgres.ts";
import type { RunSql, SqlAnswer } from "./sql-request.ts";
import { runOnSqlite } from "./sql-on-sqlite.ts";

const statement = z.strictObject({ sql: z.string().min(1), params: z.array(valueOrReference).default([]) });

const input = z.strictObject({
  url: textOrReference.meta({
    description: "postgresql://…, mysql://… or sqlite:…, best as a reference to a secret; that of SQLite must be one.",
  }),
  statements: z.array(statement).min(1).max(100).meta({
    description:
      "They run in one transaction, with $1 (PostgreSQL) or ? for parameters; the rows are those of the last.",
  }),
  readOnly: z.boolean().default(false),
  rowsMax: z.number().int().min(0).max(100_000).default(1000),
  resultBytesMax: z.number().int().min(0).max(8_388_608).default(1_048_576),
  timeoutSeconds: z.number().positive().max(86_400).default(60),
});

/** The statement, its parameters, and the database; docs/jobs.md has the fields. */
export type SqlParams = z.output<typeof input>;

/** The rows, or how many were changed. */
export interface SqlResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Rows that the last statement gave, or changed. */
  readonly rowCount: number;
  /** True if there are more rows than `rows` has. */
  readonly truncated: boolean;
}

/** Options of the job that runs SQL. */
export interface SqlJobOptions {
  readonly secrets?: SecretRules;
  /** Hosts that it may connect to; default: all. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The job `sql`: runs statements in one transaction on PostgreSQL, MySQL, MariaDB or SQLite. */
export function sqlJob({ secrets = defaultSecretRules, allowedHosts }: SqlJobOptions = {}): Job<
  SqlParams,
  SqlResult,
  z.input<typeof input>
> {
  const description = "Runs SQL statements in one transaction, and gives the rows of the last.";
  return defineJob(
    "sql",
    { input, description },
    inScope(secrets, (params: SqlParams, scope) => runStatements(params, scope, allowedHosts)),
  );
}

const runners: Readonly<Record<string, RunSql>> = {
  postgres: runOnPostgres,
  postgresql: runOnPostgres,
  mysql: runOnMysql,
  mariadb: runOnMysql,
  sqlite: runOnSqlite,
};

async function runStatements(
  params: SqlParams,
  { ctx, log, references, redactor }: JobScope,
  allowedHosts: SqlJobOptions["allowedHosts"],
): Promise<SqlResult> {
  const url = await references.text(params.url);
  const [scheme = ""] = url.split(":", 1);
  const run = Object.hasOwn(runners, scheme) ? runners[scheme] : undefined;
  if (run === undefined) throw refused("the url must begin with postgresql://, mysql:// or sqlite:");
  if (scheme === "sqlite" && !isSecret(params.url)) {
    throw refused(
      "the url of a SQLite file must be a reference, { env } or { file }: the worker decides which files it opens",
    );
  }
  if (scheme !== "sqlite") checkServer(url, redactor, { allowedHosts, isSecret: isSecret(params.url) });
  const { readOnly, rowsMax, resultBytesMax: bytesMax, timeoutSeconds } = params;
  const statements = await Promise.all(
    params.statements.map(async ({ sql, params: given }) => {
      return { sql, params: await Promise.all(given.map((each) => references.value(each))) };
    }),
  );
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
  try {
    const answer: SqlAnswer = await run({ url, statements, readOnly, rowsMax, bytesMax }, signal);
    log.info({ statements: statements.length, rows: answer.rowCount }, "committed");
    const { rows, rowCount } = answer;
    return { rows, rowCount, truncated: rows.length > 0 || rowsMax === 0 ? rows.length < rowCount : false };
  } catch (error) {
    if (error instanceof JobFailure || ctx.signal.aborted || !signal.aborted) throw error;
    const message = `the statements were canceled after ${timeoutSeconds} seconds`;
    throw new JobFailure("SqlFailed", message, { retryable: true });
  }
}

function refused(message: string): JobFailure {
  return new JobFailure("ParamsRefused", message, { retryable: false });
}
