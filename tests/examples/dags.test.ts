/** The DAGs of `examples/dags/`, each run the ways it can go; the order also with a crash at each of its commits. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import type * as EtlModule from "../../examples/dags/nightly-etl.ts";
import * as training from "../../examples/dags/model-training.ts";
import * as orders from "../../examples/dags/order.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { Engine, hasCode, type Workflow } from "../../src/index.ts";
import { loadApp } from "../../src/server/config/app-modules.ts";
import { memoryStore, testEngine } from "../../src/testing.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Client, survivesCrashes } from "./sample-rig.ts";

const examples = join(import.meta.dirname, "../../examples");
const files = globSync(join(examples, "dags/*.ts"));

describe("the DAGs from practice", () => {
  test("are all in the table of the README, and fit into one engine", async () => {
    const readme = readFileSync(join(examples, "README.md"), "utf8");
    const listed = [...readme.matchAll(/^\| \[.*\]\(dags\/(.*)\.ts\) \|/gm)].map(([, name = ""]) => name);
    assert.deepEqual(
      listed,
      files.map((file) => basename(file, ".ts")),
    );
    const { jobs, workflows } = await loadApp(files);
    for (const all of [jobs, workflows]) assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
  });
});

describe("nightly ETL", () => {
  const customers = [
    { id: "c1", country: "DE" },
    { id: "c2", country: "FR" },
  ];
  const sales = [
    { customer: "c1", amount: 10 },
    { customer: "c2", amount: 5 },
    { customer: "c1", amount: 2.5 },
  ];

  test("loads a day, publishes its sales, and loads it again without counting it twice", async (t) => {
    const night = await Night.begin(t, { orders: sales, customers });
    assert.deepEqual(await night.run("etl-1"), {
      Success: [
        "clean-up",
        "create-tables",
        "extract-customers",
        "extract-orders",
        "has-sales",
        "load-customers",
      ].concat(["load-orders", "publish", "read-sales", "source-is-up", "sum-up"]),
      Canceled: ["alarm"],
    });
    await night.run("etl-2");
    const report = JSON.stringify([
      { country: "DE", amount: 12.5 },
      { country: "FR", amount: 5 },
    ]);
    assert.deepEqual(night.posted, [
      ["/reports", report],
      ["/reports", report],
    ]);
    assert.deepEqual(night.query("SELECT count(*) AS lines FROM order_line"), [{ lines: 3 }]);
    assert.ok(!existsSync(join(night.folder, "old.csv")) && existsSync(join(night.folder, "new.csv")));
  });

  test("raises an alarm for a day without sales", async (t) => {
    const night = await Night.begin(t, { orders: [], customers });
    const { Canceled } = await night.run("etl-1");
    assert.deepEqual(Canceled, ["publish", "read-sales"]);
    assert.deepEqual(night.posted, [["/alarms", "2026-03-01"]]);
  });
});

/** The services and the database of a night, and an engine. */
class Night {
  readonly posted: [path: string, body: string][] = [];
  readonly folder: string;
  readonly #url: string;
  readonly #engine: Engine;
  readonly #workflow: Workflow;

  private constructor(parts: { folder: string; url: string; engine: Engine; workflow: Workflow }) {
    this.folder = parts.folder;
    this.#url = parts.url;
    this.#engine = parts.engine;
    this.#workflow = parts.workflow;
  }

  static async begin(t: TestContext, tables: Readonly<Record<string, unknown>>): Promise<Night> {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "new.csv"), "");
    writeFileSync(join(folder, "old.csv"), "");
    utimesSync(join(folder, "old.csv"), 0, 0);
    Object.assign(process.env, { ETL_DOWNLOADS: folder, HEDDLE_SECRET_WAREHOUSE: `sqlite:${folder}/warehouse.db` });
    // The folder is part of the definition, so each test has a module of its own.
    const etl = (await import(`../../examples/dags/nightly-etl.ts?${folder}`)) as typeof EtlModule;
    const server = createServer((request, response) => {
      const { method, url = "" } = request;
      if (method === "POST") void text(request).then((body) => void night.posted.push([url, body]));
      response.setHeader("content-type", "application/json").end(JSON.stringify(tables[url.slice(1)] ?? "ok"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const engine = new Engine({
      storage: memoryStore(),
      jobs: [etl.http, etl.sql, etl.waitFor, etl.fileCleanup],
      logger: silentLogger,
    });
    await engine.start();
    t.after(() => engine.stop());
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const night = new Night({ folder, url, engine, workflow: etl.nightlyEtl });
    return night;
  }

  /** The names of tasks by their status. */
  async run(instanceId: string): Promise<Record<string, string[]>> {
    const names = ["health", "orders", "customers", "reports", "alarms"];
    const urls = Object.fromEntries(names.map((name) => [name, `${this.#url}/${name}`]));
    const params = { day: "2026-03-01", urls };
    const run = await this.#engine.submitWorkflow(this.#workflow, { instanceId, params });
    await run.result();
    const { tasks } = await run.getStatus();
    const byStatus = Object.groupBy(tasks, ({ status }) => status);
    return Object.fromEntries(
      Object.entries(byStatus).map(([status, group]) => [status, group.map(({ name }) => name).toSorted()]),
    );
  }

  query(sql: string): unknown[] {
    const database = new DatabaseSync(join(this.folder, "warehouse.db"), { readOnly: true });
    try {
      return database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    } finally {
      database.close();
    }
  }
}

describe("model training", () => {
  const x = Array.from({ length: 30 }, (_, place) => place / 5);
  const points = { x, y: x.map((each, place) => 3 * each + 1 + (place % 2 === 0 ? 0.1 : -0.1)) };
  const { modelTraining, splitData, planTrials, train, selectBest, registerModel, askForData } = training;
  const jobs = [splitData, planTrials, train, selectBest, registerModel, askForData];

  const run = async (t: TestContext, params: object): Promise<Record<string, unknown>> => {
    const domains = { trials: { size: 2 } };
    const engine = new Engine({ storage: memoryStore(), jobs, domains, logger: silentLogger });
    await engine.start();
    t.after(() => engine.stop());
    const controller = await engine.submitWorkflow(modelTraining, { params });
    return await controller.result();
  };

  test("registers the best of all trials; those that diverge do not count", async (t) => {
    const outputs = await run(t, { points });
    assert.equal(outputs["register"], "y = 3.00 x + 1.00");
    assert.deepEqual(outputs["plan"], { trials: 6 });
    assert.equal((outputs["select"] as { compared: number }).compared, 4);
    assert.ok(!("ask" in outputs) && !("trial-4" in outputs));
  });

  test("asks for more data if none is good enough", async (t) => {
    const outputs = await run(t, { points, errorMax: 0.01 });
    assert.equal(outputs["ask"], "the best model is off by 0.10: more data are needed");
  });
});

describe("an order", () => {
  const { order, approval, fulfillment } = orders;
  const jobs = [orders.reserveGoods, orders.releaseGoods, orders.confirmOrder].concat([
    orders.chargeCard,
    orders.refundCard,
    orders.shipParcel,
  ] as never[]);
  const parts = { jobs, workflows: [order, approval, fulfillment] };

  const play = async (client: Client, params: object, decided?: object): Promise<unknown> => {
    await client.engine.submitWorkflow(order, { instanceId: "o", params }).catch((error: unknown) => {
      if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
    });
    if (decided !== undefined) {
      await client.untilStarted("o/approval");
      await client.raise("o/approval", "decided", decided);
    }
    return await client.result("o");
  };

  test("that is small is charged and shipped at once", async (t) => {
    const result = {
      reserve: "goods of 7",
      "is-large": false,
      fulfill: { charge: "charged 20 for 7", parcel: "shipped 7 to Bonn" },
      "is-fulfilled": true,
      confirm: "confirmed 7",
    };
    const effects = ["goods of 7", "charged 20 for 7", "shipped 7 to Bonn", "confirmed 7"];
    const params = { orderId: "7", amount: 20, address: "Bonn" };
    await survivesCrashes(t, { sample: "", play: (client) => play(client, params), result, effects }, parts);
  });

  test("that is large and refused releases its goods", async (t) => {
    const decided = { by: "mary", agrees: false };
    const result = {
      reserve: "goods of 8",
      "is-large": true,
      approval: decided,
      "is-approved": false,
      release: "released 8",
    };
    const effects = ["goods of 8", "released 8"];
    const params = { orderId: "8", amount: 2000, address: "Bonn" };
    await survivesCrashes(t, { sample: "", play: (client) => play(client, params, decided), result, effects }, parts);
  });

  test("that cannot be shipped is refunded, and releases its goods", async (t) => {
    const decided = { by: "mary", agrees: true };
    const result = {
      reserve: "goods of 9",
      "is-large": true,
      approval: decided,
      "is-approved": true,
      "is-fulfilled": false,
      release: "released 9",
    };
    const missing = "there is no address";
    const charged = "charged 2000 for 9";
    const effects = ["goods of 9", charged, missing, missing, `${charged}: refunded`, "released 9"];
    const params = { orderId: "9", amount: 2000, address: "" };
    await survivesCrashes(t, { sample: "", play: (client) => play(client, params, decided), result, effects }, parts);
  });

  test("that nobody decides about is refused after two days", async () => {
    await using kit = await testEngine(parts);
    const run = await kit.engine.submitWorkflow(order, { params: { orderId: "10", amount: 5000, address: "Bonn" } });
    const outputs = await kit.clock.until(run.result());
    assert.deepEqual(outputs["approval"], { by: "nobody", agrees: false });
    assert.equal(outputs["release"], "released 10");
  });
});
