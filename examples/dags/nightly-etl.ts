/**
 * A night of extract, transform and load, made of ready-made jobs alone: waits for the source, copies two tables over HTTP side
 * by side, joins them in SQL, publishes the sales if there are any and raises an alarm otherwise, and deletes old files.
 *
 * The params of a start are the `day` and the `urls` of the services. The database is a secret of the worker,
 * `HEDDLE_SECRET_WAREHOUSE`, here one of SQLite. Every load replaces its day, so an attempt that is repeated does no harm.
 */
import { TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { fileCleanupJob, httpJob, sqlJob, waitForJob } from "../../src/jobs.ts";

/** The worker says where files may be deleted; a definition alone cannot. */
const downloads = process.env["ETL_DOWNLOADS"] ?? "/var/tmp/etl";

export const http = httpJob();
export const sql = sqlJob();
export const waitFor = waitForJob();
export const fileCleanup = fileCleanupJob({ folders: [downloads] });

const day = { context: "day" };

export const nightlyEtl = new WorkflowBuilder()
  .withName("nightly-etl")
  .withTask(
    new TaskBuilder("source-is-up")
      .withJobFunction(waitFor, { url: url("health"), everySeconds: 30, timeoutSeconds: 3600 })
      .withTimeout(3700),
  )
  .withTask(
    run("create-tables", [
      { sql: "CREATE TABLE IF NOT EXISTS order_line (day TEXT, customer TEXT, amount REAL)" },
      { sql: "CREATE TABLE IF NOT EXISTS customer (id TEXT PRIMARY KEY, country TEXT)" },
      { sql: "CREATE TABLE IF NOT EXISTS sales (day TEXT, country TEXT, amount REAL, PRIMARY KEY (day, country))" },
    ]),
  )
  .withTask(extract("orders"))
  .withTask(extract("customers"))
  .withTask(
    run("load-orders", [
      { sql: "DELETE FROM order_line WHERE day = ?", params: [day] },
      {
        sql: "INSERT INTO order_line SELECT ?, value ->> 'customer', value ->> 'amount' FROM json_each(?)",
        params: [day, { output: "extract-orders", path: "body" }],
      },
    ]).withDependencies(["create-tables", "extract-orders"]),
  )
  .withTask(
    run("load-customers", [
      {
        sql: "INSERT OR REPLACE INTO customer SELECT value ->> 'id', value ->> 'country' FROM json_each(?)",
        params: [{ output: "extract-customers", path: "body" }],
      },
    ]).withDependencies(["create-tables", "extract-customers"]),
  )
  .withTask(
    run("sum-up", [
      { sql: "DELETE FROM sales WHERE day = ?", params: [day] },
      {
        sql:
          "INSERT INTO sales SELECT day, country, sum(amount) FROM order_line JOIN customer ON id = customer " +
          "WHERE day = ? GROUP BY country",
        params: [day],
      },
    ]).withDependencies(["load-orders", "load-customers"]),
  )
  // A day without a sale is more likely a broken source.
  .withTask(new TaskBuilder("has-sales").withDecision('outputs["sum-up"].rowCount > 0').withDependency("sum-up"))
  .withTask(
    run("read-sales", [
      { sql: "SELECT country, amount FROM sales WHERE day = ? ORDER BY country", params: [day] },
    ]).withDependency("has-sales", { when: true }),
  )
  .withTask(post("publish", "reports", { output: "read-sales", path: "rows" }).withDependency("read-sales"))
  .withTask(post("alarm", "alarms", day).withDependency("has-sales", { when: false }))
  .withTask(
    new TaskBuilder("clean-up")
      .withJobFunction(fileCleanup, { folders: [{ dirPath: downloads, filePattern: "*.csv", retentionHours: 72 }] })
      .withSkipWhenFailed() // a night whose files stay is still a good night
      .withDependencies(["publish", "alarm"]),
  )
  .build();

function url(of: string): { context: string; path: string } {
  return { context: "urls", path: of };
}

function extract(table: string): TaskBuilder {
  return new TaskBuilder(`extract-${table}`)
    .withJobFunction(http, { url: url(table), responseBytesMax: 8_388_608 })
    .withTimeout(300)
    .withRetryCount(5)
    .withDependency("source-is-up");
}

interface Statement {
  readonly sql: string;
  readonly params?: ({ context: string } | { output: string; path: string })[];
}

/** In one transaction; a database that is busy is asked again. */
function run(name: string, statements: Statement[]): TaskBuilder {
  return new TaskBuilder(name)
    .withJobFunction(sql, { url: { env: "HEDDLE_SECRET_WAREHOUSE" }, statements })
    .withTimeout(600)
    .withRetryCount(3);
}

/** The service sees the same Idempotency-Key again if the process dies and the attempt is repeated. */
function post(name: string, to: string, body: { context: string } | { output: string; path: string }): TaskBuilder {
  return new TaskBuilder(name)
    .withJobFunction(http, { url: url(to), method: "POST", body, mediaType: "application/json" })
    .withRetryCount(5);
}
