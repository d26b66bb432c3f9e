import { type CodeWorkflow, defineWorkflow } from "../../authoring/code-workflow.ts";
import type { StandardSchema } from "../../authoring/standard-schema.ts";
import { TaskBuilder } from "../../authoring/task-builder.ts";
import type { Workflow } from "../../authoring/workflow.ts";
import { WorkflowBuilder } from "../../authoring/workflow-builder.ts";
import type { DemoJobName, WorkParams } from "./demo-jobs.ts";

const secondMs = 1000;
const minuteMs = 60 * secondMs;

type Step = readonly [task: string, job: DemoJobName, params: WorkParams, after: readonly string[]];

function dag(name: string, steps: readonly Step[]): Workflow {
  const builder = new WorkflowBuilder().withName(name);
  for (const [task, job, params, after] of steps) {
    builder.withTask(
      new TaskBuilder(task)
        .withJobFunction(job, params)
        .withTimeout(3600)
        .withRetryCount(1)
        .withRetryPolicy({ initialMs: 5 * secondMs })
        .withDependencies([...after]),
    );
  }
  return builder.build();
}

/** Extracts several tables side by side, checks and joins them, loads the result. */
function etl(name: string, tables: readonly string[], fails: number): Workflow {
  const extracts = tables.map((table): Step => [
    `extract-${table}`,
    "extract-table",
    { ms: 20 * secondMs, fails: fails / 2 },
    [],
  ]);
  return dag(name, [
    ...extracts,
    ["validate", "validate-rows", { ms: 8 * secondMs }, tables.map((table) => `extract-${table}`)],
    ["transform", "transform", { ms: 40 * secondMs }, ["validate"]],
    ["load", "load-warehouse", { ms: 30 * secondMs, fails, error: 'column "amount" does not exist' }, ["transform"]],
    ["report", "render-report", { ms: 6 * secondMs }, ["load"]],
    ["mail", "send-mail", { ms: secondMs }, ["report"]],
  ]);
}

/** Fetches and answers, in a few seconds. */
function sync(name: string, fails: number): Workflow {
  return dag(name, [
    ["fetch", "call-api", { ms: 3 * secondMs, fails, error: "the service answered 503" }, []],
    ["check", "validate-rows", { ms: secondMs }, ["fetch"]],
    ["store", "load-warehouse", { ms: 2 * secondMs }, ["check"]],
  ]);
}

function training(name: string): Workflow {
  const folds = ["a", "b", "c", "d"];
  return dag(name, [
    ["features", "transform", { ms: 2 * minuteMs }, []],
    ...folds.map((fold): Step => [`train-${fold}`, "train-model", { ms: 6 * minuteMs, fails: 4 }, ["features"]]),
    ["score", "score-batch", { ms: minuteMs }, folds.map((fold) => `train-${fold}`)],
    ["publish", "load-warehouse", { ms: 10 * secondMs }, ["score"]],
  ]);
}

const tables = ["orders", "items", "users", "events", "stock"];
const areas = ["sales", "finance", "logistics", "marketing", "support", "web", "mobile", "partners"];
const sources = ["crm", "shop", "billing", "tickets", "ads", "maps", "weather", "rates"];

interface Order {
  readonly order: string;
  readonly euros: number;
}

const text = { type: "string" };

/** A schema without a library: what the form of a start is made from, and a check of what it needs. */
const orderInput: StandardSchema<Order> = {
  "~standard": {
    version: 1,
    vendor: "heddle-demo",
    validate: (value) => {
      const { order, euros } = (value ?? {}) as Partial<Order>;
      if (typeof order === "string" && typeof euros === "number") return { value: value as Order };
      return { issues: [{ message: "order must be text, and euros a number" }] };
    },
    jsonSchema: {
      input: () => ({
        type: "object",
        properties: {
          order: { ...text, minLength: 3, description: "The number of the order, such as o-4711." },
          euros: { type: "number", exclusiveMinimum: 0 },
          shipping: { ...text, enum: ["standard", "express", "pick-up"], default: "standard" },
          gift: { type: "boolean", default: false },
          address: { type: "object", properties: { street: text, city: text }, required: ["street", "city"] },
          items: {
            type: "array",
            items: {
              type: "object",
              properties: { article: text, count: { type: "integer", minimum: 1 } },
              required: ["article", "count"],
            },
          },
        },
        required: ["order", "euros"],
      }),
    },
  },
};

/** An order that takes days: it waits for a courier, and is undone if nobody pays. */
const order = defineWorkflow("order", { input: orderInput }, async (ctx, input) => {
  const work = (job: DemoJobName, ms: number): Promise<unknown> => ctx.run(job, { ms });
  await ctx.run("reserve-stock", { ms: 2 * secondMs }, { undo: () => ctx.run("refund", { ms: secondMs }) });
  await work("charge-card", 3 * secondMs);
  await Promise.all(["box", "label", "invoice"].map(() => work("render-report", 2 * secondMs)));
  ctx.setCustomStatus(`waits for the courier of ${input.order}`);
  await ctx.waitForEvent("picked-up", { timeoutMs: 3 * 24 * 60 * minuteMs });
  await work("book-courier", 4 * secondMs);
  await ctx.sleep(30 * minuteMs);
  await work("send-mail", secondMs);
  return { order: input.order, delivered: true };
});

export const orderWorkflow = order.name;

/** Forty workflows, as a company has them. */
export const demoWorkflows: readonly (Workflow | CodeWorkflow)[] = [
  etl("nightly-etl", tables, 40),
  ...areas.map((area, number) => etl(`${area}-daily`, tables.slice(0, 2 + (number % 4)), number === 1 ? 65 : 8)),
  ...sources.map((source, number) => sync(`sync-${source}`, number === 2 ? 60 : 12)),
  ...areas.map((area) => sync(`alerts-${area}`, 1)),
  ...areas.slice(0, 5).map((area) => training(`forecast-${area}`)),
  ...sources.slice(0, 8).map((source) => sync(`cleanup-${source}`, 0)),
  training("recommendations"),
  order,
];
