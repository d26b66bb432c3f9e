import { runOnMysql } from "../jobs/sql-on-mysql.ts";
import { runOnPostgres } from "../jobs/sql-on-postgres.ts";
import type { PowerJobData, PowerJobJob, PowerJobNode, PowerJobWorkflow } from "../powerjob/powerjob-data.ts";
import type { PowerJobRun } from "../powerjob/shadow.ts";
import { UsageError } from "./exit-code.ts";

type Row = Readonly<Record<string, unknown>>;

const pageRows = 500;
const pageBytes = 512 * 1024 * 1024;

/** Both databases read these words; `CASE` turns MySQL's bits and PostgreSQL's booleans into numbers. */
const timing = "time_expression_type, time_expression, lifecycle, status";
const columns = {
  workflow_info: `id, wf_name, pedag, max_wf_instance_num, ${timing}`,
  workflow_node_info:
    "id, workflow_id, type, job_id, node_name, node_params, CASE WHEN enable THEN 1 ELSE 0 END AS enable, CASE WHEN skip_when_failed THEN 1 ELSE 0 END AS skip_when_failed",
  job_info: `id, job_name, job_params, execute_type, processor_info, max_instance_num, instance_time_limit, instance_retry_num, task_retry_num, designated_workers, ${timing}`,
  workflow_instance_info:
    "id, workflow_id, CAST(wf_instance_id AS CHAR(20)) AS wf_instance_id, status, wf_context, dag",
  app_info: "id, app_name",
} as const;

/** Reads PowerJob's tables on MySQL, MariaDB or PostgreSQL. It writes nothing. */
export class PowerJobDatabase {
  readonly #url: string;
  readonly #isMysql: boolean;

  constructor(url: string) {
    if (!/^(?:mysql|mariadb|postgres|postgresql):\/\//.test(url)) {
      throw new UsageError("the database of PowerJob must be mysql://… or postgresql://…");
    }
    this.#url = url;
    this.#isMysql = url.startsWith("m");
  }

  /** Of one app, by its name, or of all. */
  async read(app: string | undefined): Promise<PowerJobData> {
    const appId = app === undefined ? undefined : await this.#appId(app);
    return {
      workflows: (await this.#all("workflow_info", appId)).map(workflowOf),
      nodes: (await this.#all("workflow_node_info", appId)).map(nodeOf),
      jobs: (await this.#all("job_info", appId)).map(jobOf),
    };
  }

  /** A page of the top-level workflow runs after a row that have failed or succeeded, oldest first. */
  async finishedRuns(app: string | undefined, after: number): Promise<PowerJobRun[]> {
    const appId = app === undefined ? undefined : await this.#appId(app);
    const ended = " AND status IN (3, 4) AND parent_wf_instance_id IS NULL";
    const page = await this.#page("workflow_instance_info", { appId, after, condition: ended });
    return page.map(runOf);
  }

  async #appId(name: string): Promise<number> {
    const apps = await this.#all("app_info", undefined);
    const found = apps.find((row) => row["app_name"] === name);
    if (found !== undefined) return Number(found["id"]);
    const names = apps.map((row) => String(row["app_name"])).join(", ");
    throw new UsageError(`PowerJob has no app "${name}"; there are: ${names === "" ? "none" : names}`);
  }

  async #all(table: keyof typeof columns, appId: number | undefined): Promise<Row[]> {
    const rows: Row[] = [];
    for (let after = 0; ;) {
      const page = await this.#page(table, { appId, after, condition: "" });
      rows.push(...page);
      if (page.length < pageRows) return rows;
      after = Number(page.at(-1)?.["id"]);
    }
  }

  async #page(
    table: keyof typeof columns,
    { appId, after, condition }: { appId: number | undefined; after: number; condition: string },
  ): Promise<readonly Row[]> {
    const [first, second] = this.#isMysql ? ["?", "?"] : ["$1", "$2"];
    const ofApp = appId === undefined ? "" : ` AND app_id = ${second}`;
    const sql = `SELECT ${columns[table]} FROM ${table} WHERE id > ${first}${ofApp}${condition} ORDER BY id LIMIT ${pageRows}`;
    const params = appId === undefined ? [after] : [after, appId];
    const run = this.#isMysql ? runOnMysql : runOnPostgres;
    const request = {
      url: this.#url,
      statements: [{ sql, params }],
      readOnly: true,
      rowsMax: pageRows,
      bytesMax: pageBytes,
    };
    return (await run(request, new AbortController().signal)).rows;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function timingOf(row: Row): Pick<PowerJobJob, "timeExpressionType" | "timeExpression" | "lifecycle" | "status"> {
  return {
    timeExpressionType: numberOf(row["time_expression_type"]),
    timeExpression: textOf(row["time_expression"]),
    lifecycle: textOf(row["lifecycle"]),
    status: numberOf(row["status"]),
  };
}

function workflowOf(row: Row): PowerJobWorkflow {
  return {
    id: Number(row["id"]),
    wfName: textOf(row["wf_name"]),
    peDag: textOf(row["pedag"]),
    maxWfInstanceNum: numberOf(row["max_wf_instance_num"]),
    ...timingOf(row),
  };
}

function runOf(row: Row): PowerJobRun {
  return {
    id: Number(row["id"]),
    workflowId: Number(row["workflow_id"]),
    wfInstanceId: String(row["wf_instance_id"]).trim(),
    status: Number(row["status"]),
    wfContext: textOf(row["wf_context"]),
    dag: textOf(row["dag"]),
  };
}

function nodeOf(row: Row): PowerJobNode {
  return {
    id: Number(row["id"]),
    workflowId: Number(row["workflow_id"]),
    type: numberOf(row["type"]),
    jobId: numberOf(row["job_id"]),
    nodeName: textOf(row["node_name"]),
    nodeParams: textOf(row["node_params"]),
    enable: Number(row["enable"]) === 1,
    skipWhenFailed: Number(row["skip_when_failed"]) === 1,
  };
}

function jobOf(row: Row): PowerJobJob {
  return {
    id: Number(row["id"]),
    jobName: textOf(row["job_name"]),
    jobParams: textOf(row["job_params"]),
    executeType: numberOf(row["execute_type"]),
    processorInfo: textOf(row["processor_info"]),
    maxInstanceNum: numberOf(row["max_instance_num"]),
    instanceTimeLimit: numberOf(row["instance_time_limit"]),
    instanceRetryNum: numberOf(row["instance_retry_num"]),
    taskRetryNum: numberOf(row["task_retry_num"]),
    designatedWorkers: textOf(row["designated_workers"]),
    ...timingOf(row),
  };
}
