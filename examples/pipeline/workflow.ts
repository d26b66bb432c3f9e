import { TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import type { Job } from "../../src/index.ts";
import { forecast } from "./forecast.ts";
import * as jobs from "./jobs.ts";
import { speed } from "./settings.ts";
import type { Table } from "./shop.ts";

export const allJobs = [...Object.values(jobs), forecast];

/** Runs inside `nightly`, as one of its tasks. */
export const publish = new WorkflowBuilder()
  .withName("publish")
  .withTask(task("search-index", jobs.searchIndex))
  .withTask(task("country-pages", jobs.countryPages))
  .withTask(task("manifest", jobs.manifest).withDependencies(["search-index", "country-pages"]))
  .withTask(task("verify", jobs.verify).withDependency("manifest"))
  .build();

/** What `npm start` runs. */
export const nightly = new WorkflowBuilder()
  .withName("nightly")
  .withDomain("warehouse")
  .withMaxConcurrentTasks(4)
  .withTask(task("plan", jobs.plan))
  .withTask(
    task("exchange-rates", jobs.exchangeRates)
      .withRetryCount(3)
      .withRetryPolicy({ initialMs: 2000 / speed })
      .withDependency("plan"),
  )
  .withTask(extract("customers", 2))
  .withTask(extract("products", 1.5))
  .withTask(extract("orders", 2.5))
  .withTask(extract("order-lines", 3))
  .withTask(extract("payments", 2))
  .withTask(extract("shipments", 2))
  // Many orders are priced in shards, a few in one go: the branch that is not taken is canceled.
  .withTask(
    new TaskBuilder("many-orders")
      .withDecision('outputs["extract-orders"].rows > 1000')
      .withDependencies(["extract-orders", "extract-order-lines", "extract-products", "exchange-rates"]),
  )
  .withTask(
    new TaskBuilder("shard-orders")
      .withJobFunction(jobs.shardOrders, { shards: 6 })
      .withDependency("many-orders", { when: true }),
  )
  .withTask(
    new TaskBuilder("price-at-once")
      .withJobFunction(jobs.price, { shard: 1, of: 1, seconds: 2 })
      .withDependency("many-orders", { when: false }),
  )
  .withTask(
    task("join-orders", jobs.joinOrders).withDependencies(["shard-orders", "price-at-once", "extract-customers"]),
  )
  .withTask(aggregate("by-day", 1.5))
  .withTask(aggregate("by-country", 2))
  .withTask(aggregate("by-product", 2.5))
  .withTask(aggregate("by-customer", 2))
  .withTask(task("delivery-times", jobs.deliveryTimes).withDependencies(["extract-shipments", "join-orders"]))
  .withTask(task("unpaid-orders", jobs.unpaidOrders).withDependencies(["extract-payments", "join-orders"]))
  .withTask(task("forecast", forecast).withTimeout(120).withDependency("sales-by-day"))
  .withTask(
    new TaskBuilder("publish").withNestedWorkflow(publish).withDependencies(["sales-by-country", "sales-by-product"]),
  )
  .withTask(
    task("report", jobs.report).withDependencies([
      "join-orders",
      "sales-by-product",
      "sales-by-customer",
      "delivery-times",
      "unpaid-orders",
      "forecast",
      "publish",
    ]),
  )
  .build();

/** A word about the tasks that are not what they look like. */
export const remarks: ReadonlyMap<string, string> = new Map([
  ["exchange-rates", "fails twice, on purpose"],
  ["many-orders", "a decision"],
  ["shard-orders", "makes tasks while it runs"],
  ["forecast", "in a thread"],
  ["publish", "a nested workflow"],
]);

function task<Output>(name: string, job: Job<undefined, Output>): TaskBuilder {
  return new TaskBuilder(name).withJobFunction(job);
}

function extract(table: Table, seconds: number): TaskBuilder {
  return new TaskBuilder(`extract-${table}`).withJobFunction(jobs.extract, { table, seconds }).withDependency("plan");
}

function aggregate(grouping: "by-day" | "by-country" | "by-product" | "by-customer", seconds: number): TaskBuilder {
  const name = `sales-${grouping}`;
  return new TaskBuilder(name).withJobFunction(jobs.aggregate, { grouping, seconds }).withDependency("join-orders");
}
