import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { z } from "zod";
import { defineJob, TaskBuilder } from "../../src/index.ts";
import { readRows, writeCsv, writeRows, writeWhole } from "./row-file.ts";
import { readTable, tables } from "./shop.ts";
import type { Currency, Customer, Order, OrderLine, Payment, Product, Shipment } from "./shop.ts";
import { journaled } from "./step.ts";
import type { Step } from "./step.ts";

/** An order line with all that is known about it. */
interface PricedLine extends OrderLine {
  readonly day: number;
  readonly customer: number;
  readonly name: string;
  readonly euros: number;
}

interface Sale extends PricedLine {
  readonly country: string;
}

export const plan = defineJob(
  "plan",
  journaled(async (_params: undefined, step, ctx) => {
    await step.takeTime(0.5);
    ctx.patchContext({ plannedAt: new Date().toISOString() });
    return { tables: tables.length };
  }),
);

/** Copies a table, a piece at a time, as one does with a database that is far away. */
export const extract = defineJob(
  "extract",
  { input: z.object({ table: z.enum(tables), seconds: z.number() }) },
  journaled(async ({ table, seconds }, step) => {
    const rows: unknown[] = [];
    const pieces = 10;
    for (let piece = 0; piece < pieces; piece++) {
      rows.push(...readTable(table, piece / pieces, (piece + 1) / pieces));
      await step.takeTime(seconds / pieces);
    }
    writeRows(step.path(`raw/${table}.jsonl`), rows);
    return { rows: rows.length };
  }),
);

/** Fails twice. The waits between its attempts are kept in the database: they go on counting while nothing runs. */
export const exchangeRates = defineJob(
  "exchange-rates",
  journaled(async (_params: undefined, step, ctx) => {
    await step.takeTime(0.8);
    if (ctx.attempt <= 2) throw new Error("the rate service answered 503");
    const rates: Record<Currency, number> = { EUR: 1, USD: 0.92, GBP: 1.17 };
    ctx.patchContext({ rates });
    return rates;
  }),
);

/** How many pieces there are is known only now: each becomes a task of its own, and the join waits for them all. */
export const shardOrders = defineJob(
  "shard-orders",
  { input: z.object({ shards: z.number() }) },
  journaled(async ({ shards }, step, ctx) => {
    await step.takeTime(1);
    for (let shard = 1; shard <= shards; shard++) {
      const seconds = 2 + 0.2 * shard;
      ctx.generateSubTask(
        new TaskBuilder(`price-${shard}`).withJobFunction(price, { shard, of: shards, seconds }).build(),
      );
    }
    return { shards };
  }),
);

/** Prices one part of the order lines, in euros. */
export const price = defineJob(
  "price",
  { input: z.object({ shard: z.number(), of: z.number(), seconds: z.number() }) },
  journaled(async ({ shard, of, seconds }, step, ctx) => {
    const rates = ctx.context["rates"] as Record<Currency, number>;
    const products = byId(readRows<Product>(step.path("raw/products.jsonl")));
    const orders = byId(readRows<Order>(step.path("raw/orders.jsonl")));
    const lines = readRows<OrderLine>(step.path("raw/order-lines.jsonl"))
      .filter((line) => line.order % of === shard - 1)
      .map((line): PricedLine => {
        const { name, cents, currency } = found(products, line.product);
        const { customer, day } = found(orders, line.order);
        return { ...line, day, customer, name, euros: (line.quantity * cents * rates[currency]) / 100 };
      });
    await step.takeTime(seconds);
    writeRows(step.path(`priced/${shard}.jsonl`), lines);
    return { lines: lines.length };
  }),
);

export const joinOrders = defineJob(
  "join-orders",
  journaled(async (_params: undefined, step) => {
    const customers = byId(readRows<Customer>(step.path("raw/customers.jsonl")));
    const sales = globSync(step.path("priced/*.jsonl"))
      .flatMap((file) => readRows<PricedLine>(file))
      .map((line): Sale => ({ ...line, country: found(customers, line.customer).country }));
    await step.takeTime(2);
    writeRows(step.path("sales.jsonl"), sales);
    return { lines: sales.length, euros: Math.round(total(sales)) };
  }),
);

const groupings = {
  "by-day": "day",
  "by-country": "country",
  "by-product": "name",
  "by-customer": "customer",
} as const;

/** One table of sums: the largest first, days in their order. */
export const aggregate = defineJob(
  "aggregate",
  { input: z.object({ grouping: z.enum(["by-day", "by-country", "by-product", "by-customer"]), seconds: z.number() }) },
  journaled(async ({ grouping, seconds }, step) => {
    const column = groupings[grouping];
    const groups = Map.groupBy(readRows<Sale>(step.path("sales.jsonl")), (sale) => sale[column]);
    const sums = Array.from(groups, ([key, sales]) => [key, Math.round(total(sales))] as const);
    sums.sort((a, b) => (column === "day" ? Number(a[0]) - Number(b[0]) : b[1] - a[1]));
    await step.takeTime(seconds);
    writeCsv(step.path(`tables/sales-${grouping}.csv`), [column, "euros"], sums);
    return { groups: sums.length, first: sums[0]?.[0] };
  }),
);

export const deliveryTimes = defineJob(
  "delivery-times",
  journaled(async (_params: undefined, step) => {
    const days = readRows<Shipment>(step.path("raw/shipments.jsonl")).map((shipment) => shipment.days);
    await step.takeTime(1.5);
    return { meanDays: Number((days.reduce((sum, each) => sum + each, 0) / days.length).toFixed(2)) };
  }),
);

export const unpaidOrders = defineJob(
  "unpaid-orders",
  journaled(async (_params: undefined, step) => {
    const unpaid = readRows<Payment>(step.path("raw/payments.jsonl")).filter((payment) => !payment.isPaid);
    await step.takeTime(1.5);
    writeRows(step.path("unpaid.jsonl"), unpaid);
    return { orders: unpaid.length };
  }),
);

/** Which products a word is found in. */
export const searchIndex = defineJob(
  "search-index",
  journaled(async (_params: undefined, step) => {
    const index: Record<string, number[]> = {};
    for (const { id, name } of readRows<Product>(step.path("raw/products.jsonl"))) {
      for (const word of name.split(" ")) (index[word] ??= []).push(id);
    }
    await step.takeTime(2);
    writeWhole(step.path("index.json"), JSON.stringify(index));
    return { words: Object.keys(index).length };
  }),
);

export const countryPages = defineJob(
  "country-pages",
  journaled(async (_params: undefined, step) => {
    const groups = Map.groupBy(readRows<Sale>(step.path("sales.jsonl")), (sale) => sale.country);
    for (const [country, sales] of groups) {
      writeWhole(
        step.path(`pages/${country}.md`),
        `# ${country}\n\n${sales.length} lines, ${total(sales).toFixed(2)} EUR\n`,
      );
      await step.takeTime(0.2);
    }
    return { pages: groups.size };
  }),
);

export const manifest = defineJob(
  "manifest",
  journaled(async (_params: undefined, step) => {
    const sums = checksums(step);
    await step.takeTime(1);
    writeWhole(step.path("manifest.json"), JSON.stringify(sums, null, 1));
    return { files: Object.keys(sums).length };
  }),
);

export const verify = defineJob(
  "verify",
  journaled(async (_params: undefined, step) => {
    await step.takeTime(1);
    const listed = readFileSync(step.path("manifest.json"), "utf8");
    if (listed !== JSON.stringify(checksums(step), null, 1)) throw new Error("a published file has changed since");
    return { verified: true };
  }),
);

/** Reads what the tasks before it gave back, and writes it down for people. */
export const report = defineJob(
  "report",
  journaled(async (_params: undefined, step, ctx) => {
    const { outputs } = ctx;
    await step.takeTime(0.5);
    const lines = Object.entries(outputs).map(([task, output]) => `- ${task}: ${JSON.stringify(output)}\n`);
    writeWhole(step.path("report.md"), `# Nightly report, ${String(ctx.context["plannedAt"])}\n\n${lines.join("")}`);
    return { file: "report.md" };
  }),
);

/** Of what the nested workflow has written: the index and the pages. */
function checksums(step: Step): Record<string, string> {
  const files = globSync(["index.json", "pages/*.md"], { cwd: step.folder }).toSorted();
  const sum = (file: string): string =>
    createHash("sha256")
      .update(readFileSync(step.path(file)))
      .digest("hex");
  return Object.fromEntries(files.map((file) => [file, sum(file)]));
}

function byId<Row extends { readonly id: number }>(rows: readonly Row[]): ReadonlyMap<number, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function found<Row>(rows: ReadonlyMap<number, Row>, id: number): Row {
  const row = rows.get(id);
  if (row === undefined) throw new Error(`there is no row ${id}`);
  return row;
}

function total(sales: readonly PricedLine[]): number {
  return sales.reduce((sum, { euros }) => sum + euros, 0);
}
