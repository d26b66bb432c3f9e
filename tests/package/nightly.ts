/** What a user writes who has installed heddle. Prints the outputs of the first run, then what a second engine finds. */
import { Engine, TaskBuilder, WorkflowBuilder } from "heddle";
import { valid } from "heddle/dag";
import { sqlite } from "heddle/sqlite";
import * as testing from "heddle/testing";
import { extract, index, join } from "./jobs.js";
import { doors } from "./legacy.cjs";

const open = () =>
  new Engine({
    storage: sqlite("./data/heddle.db"),
    jobs: [extract, join, index],
    domains: { "market-data": { size: 4, priority: 10 } },
  });

const nightly = new WorkflowBuilder()
  .withName("nightly")
  .withDomain("market-data")
  .withTask(
    new TaskBuilder("orders").withJobFunction(extract, { table: "orders" }).withTimeout(60).withRetryCount(3).build(),
  )
  .withTask(new TaskBuilder("join").withJobFunction("join").withDependency("orders").build())
  .withTask(
    new TaskBuilder("index")
      .withJobFunction(index, { words: ["b", "a"] })
      .withDependency("join")
      .build(),
  )
  .build();

// @ts-expect-error: a job's parameters are checked when its object is used
const wrong = () => new TaskBuilder("orders").withJobFunction(extract, { tabel: "orders" });

const first = open();
await first.start();
const run = await first.submitWorkflow(nightly);
const outputs = await run.result();
await first.stop();

const second = open();
await second.start();
const instances = await second.listWorkflowInstances();
await second.stop();

console.log(
  JSON.stringify({
    outputs,
    found: instances.map((instance) => [instance.id === run.instanceId, instance.status]),
    doors: [typeof valid, typeof testing, typeof wrong],
    required: doors,
  }),
);
