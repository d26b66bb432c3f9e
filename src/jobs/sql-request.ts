import { JobFailure } from "./job-failure.ts";

/** Statements that run in one transaction; the rows are those of the last. */
export interface SqlRequest {
  readonly url: string;
  readonly statements: readonly { readonly sql: string; readonly params: readonly unknown[] }[];
  readonly readOnly: boolean;
  readonly rowsMax: number;
  readonly bytesMax: number;
}

export interface SqlAnswer {
  readonly rows: readonly Record<string, unknown>[];
  /** Rows that the last statement gave, or changed. */
  readonly rowCount: number;
}

/** Runs the request; the statement that runs is canceled when the signal is aborted. */
export type RunSql = (request: SqlRequest, signal: AbortSignal) => Promise<SqlAnswer>;

/** Classes of SQLSTATE of which another attempt gives nothing else: syntax, data, constraints, rights, unknown names. */
const finalClasses = ["0A", "22", "23", "28", "2F", "3D", "3F", "42", "44"];

export function sqlFailure(message: string, state: string | undefined): JobFailure {
  const where = state === undefined ? "" : ` (SQLSTATE ${state})`;
  const retryable = state === undefined || !finalClasses.includes(state.slice(0, 2));
  return new JobFailure("SqlFailed", `the database refused${where}: ${message}`, { retryable });
}

/** Loads the package of a database's client, which is installed only by those who need it. `SqlFailed`. */
export async function loadDriver<Driver>(name: string, load: () => Promise<Driver>): Promise<Driver> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    const problem = `the database needs the package ${name}, which is not installed here; run npm install ${name}`;
    throw new JobFailure("SqlFailed", problem, { retryable: true });
  }
}
