/** PowerJob's tables as its servers create them, with the columns that matter here, and a night of workflows in them. */
import { execute, type ServerKind } from "../databases/databases.ts";

const timing = "lifecycle varchar(255), status int, time_expression varchar(255), time_expression_type int";

function tables(kind: ServerKind): string[] {
  const [key, flag, text] =
    kind === "mysql"
      ? ["bigint NOT NULL AUTO_INCREMENT PRIMARY KEY", "bit(1) NOT NULL", "longtext"]
      : ["bigserial PRIMARY KEY", "boolean NOT NULL", "text"];
  return [
    `CREATE TABLE app_info (id ${key}, app_name varchar(255))`,
    `CREATE TABLE job_info (id ${key}, app_id bigint, job_name varchar(255), job_params ${text}, execute_type int, processor_type int,
      processor_info varchar(255), max_instance_num int, instance_time_limit bigint, instance_retry_num int, task_retry_num int,
      designated_workers varchar(255), ${timing})`,
    `CREATE TABLE workflow_info (id ${key}, app_id bigint, wf_name varchar(255), pedag ${text}, max_wf_instance_num int, ${timing})`,
    `CREATE TABLE workflow_node_info (id ${key}, app_id bigint NOT NULL, workflow_id bigint, type int, job_id bigint,
      node_name varchar(255), node_params ${text}, enable ${flag}, skip_when_failed ${flag})`,
    `CREATE TABLE workflow_instance_info (id ${key}, app_id bigint, workflow_id bigint, wf_instance_id bigint, parent_wf_instance_id bigint,
      status int, wf_context ${text}, dag ${text})`,
  ];
}

type Value = string | number | boolean | null;

function insert(table: string, values: Readonly<Record<string, Value>>): string {
  const text = (value: Value): string =>
    typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
  return `INSERT INTO ${table} (${Object.keys(values).join(", ")}) VALUES (${Object.values(values).map(text).join(", ")})`;
}

const http = "tech.powerjob.official.processors.impl.HttpProcessor";

function jobs(): string[] {
  const common = { app_id: 1, execute_type: 1, processor_type: 1, status: 1, time_expression_type: 5 };
  return [
    insert("job_info", {
      ...common,
      id: 11,
      job_name: "extract",
      processor_info: "com.example.Extract",
      instance_time_limit: 90_000,
      instance_retry_num: 1,
      task_retry_num: 1,
    }),
    insert("job_info", {
      ...common,
      id: 12,
      job_name: "load",
      processor_info: "com.example.Load",
      job_params: '{"table":"t"}',
    }),
    insert("job_info", {
      ...common,
      id: 13,
      job_name: "notify",
      processor_info: http,
      job_params: '{"url":"http://127.0.0.1:9/","method":"post"}',
    }),
    insert("job_info", {
      ...common,
      id: 14,
      job_name: "sweep",
      processor_info: "com.example.Load",
      time_expression_type: 3,
      time_expression: "60000",
      execute_type: 2,
      designated_workers: "w1",
    }),
    insert("job_info", { ...common, id: 15, job_name: "old", processor_info: "com.example.Old", status: 99 }),
  ];
}

interface Given {
  readonly id: number;
  readonly name: string;
  readonly nodes: readonly Readonly<Record<string, Value>>[];
  readonly edges?: readonly object[];
  readonly more?: Readonly<Record<string, Value>>;
}

function workflow({ id, name, nodes, edges = [], more = {} }: Given): string[] {
  const ids = nodes.map((_, place) => id * 100 + place + 1);
  const pedag = JSON.stringify({ nodes: ids.map((nodeId) => ({ nodeId })), edges });
  const timed = { status: 1, time_expression_type: 2, time_expression: "0 0 2 * * ?" };
  return [
    insert("workflow_info", { id, app_id: 1, wf_name: name, pedag, max_wf_instance_num: 1, ...timed, ...more }),
    ...nodes.map((node, place) =>
      insert("workflow_node_info", {
        id: ids[place] as number,
        app_id: 1,
        workflow_id: id,
        type: 1,
        node_params: null,
        enable: true,
        skip_when_failed: false,
        ...node,
      }),
    ),
  ];
}

function arms(id: number): object[] {
  const at = (n: number): number => id * 100 + n;
  return [
    { from: at(1), to: at(2) },
    { from: at(2), to: at(3), property: "true" },
    { from: at(2), to: at(4), property: "false" },
  ];
}

/** Fifty workflows of one app: chains, a decision in Groovy in each tenth, a nested one, a broken one; and one of another app. */
export async function fillPowerJob(kind: ServerKind, url: string): Promise<void> {
  const statements = [
    ...tables(kind),
    insert("app_info", { id: 1, app_name: "night" }),
    insert("app_info", { id: 2, app_name: "other" }),
    ...jobs(),
  ];
  const extract = { node_name: "extract", job_id: 11 };
  const load = { node_name: "load", job_id: 12 };
  for (let id = 1; id <= 46; id++) {
    const edges = [{ from: id * 100 + 1, to: id * 100 + 2 }];
    statements.push(...workflow({ id, name: `sync/${id}`, nodes: [extract, load], edges }));
  }
  const decision = { node_name: "enough", type: 2, node_params: 'context.get("rows") > 5' };
  const script = { ...decision, node_params: "def n = context.get('rows'); return n > 5" };
  const skipped = { node_name: "skip", job_id: 12, enable: false, skip_when_failed: true };
  statements.push(
    ...workflow({
      id: 47,
      name: "decide",
      nodes: [extract, decision, load, skipped],
      edges: arms(47),
      more: { max_wf_instance_num: 0 },
    }),
    ...workflow({ id: 48, name: "script", nodes: [extract, script, load, skipped], edges: arms(48) }),
    ...workflow({
      id: 49,
      name: "nested",
      nodes: [{ node_name: "inner", type: 3, job_id: 47 }],
      more: { status: 2, time_expression_type: 1 },
    }),
    ...workflow({
      id: 50,
      name: "decide",
      nodes: [{ node_name: "tell", job_id: 13 }],
      more: { time_expression_type: 4, time_expression: "5000" },
    }),
    ...workflow({ id: 51, name: "gone", nodes: [load], more: { status: 99 } }),
    ...workflow({ id: 52, name: "elsewhere", nodes: [load], more: { app_id: 2 } }),
  );
  await execute(url, ...statements);
}

/** Statuses of nodes, as PowerJob records them with a run. */
const waiting = 1;
const failed = 4;
const succeed = 5;
const canceled = 9;

/** Finished runs: two that Heddle repeats alike, one that failed, one whose decision went the other way, one under way, one of a child. */
export async function addRuns(url: string): Promise<void> {
  const run = (id: number, workflowId: number, status: number, statuses: readonly number[], rows: number): string => {
    const nodes = statuses.map((each, place) => ({
      nodeId: workflowId * 100 + place + 1,
      status: each,
      result: `r${place}`,
    }));
    return insert("workflow_instance_info", {
      id,
      app_id: 1,
      workflow_id: workflowId,
      wf_instance_id: 700_000_000_000_000_000 + id,
      parent_wf_instance_id: null,
      status,
      wf_context: JSON.stringify({ rows: String(rows) }),
      dag: JSON.stringify({ nodes, edges: [] }),
    });
  };
  await execute(
    url,
    run(1, 1, 4, [succeed, succeed], 7),
    run(2, 47, 4, [succeed, succeed, succeed, canceled], 7),
    run(3, 2, 3, [failed, waiting], 7),
    run(4, 47, 4, [succeed, succeed, canceled, succeed], 9),
    run(5, 1, 2, [succeed, waiting], 7),
    run(6, 48, 4, [succeed, succeed, succeed, canceled], 7),
  );
}
