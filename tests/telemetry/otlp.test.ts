import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { context, trace } from "@opentelemetry/api";
import { exportTraces } from "../../src/telemetry/otlp.ts";
import { Tracing } from "../../src/telemetry/tracing.ts";
import { startCollector } from "./collector.ts";
import { change, created, ended, started } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

test("spans reach a collector, under the name of the service", async (t) => {
  const collector = await startCollector(t);
  const stop = await exportTraces({
    url: `${collector.url}/v1/traces`,
    serviceName: "heddle-test",
    headers: { "x-key": "abc" },
  });
  t.after(() => {
    trace.disable();
    context.disable();
  });
  const tracing = new Tracing();
  tracing.observe(change({ events: [created, started] }));
  tracing.observe(change({ events: [ended("Success")] }));
  await stop();
  assert.equal(collector.received.length, 1);
  const [{ path, headers, body } = { path: "", headers: {}, body: "{}" }] = collector.received;
  assert.equal(path, "/v1/traces");
  assert.equal(headers["x-key"], "abc");
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: {
      resource: { attributes: { key: string; value: { stringValue: string } }[] };
      scopeSpans: { spans: { name: string }[] }[];
    }[];
  };
  assert.deepEqual(resourceSpans[0]?.resource.attributes, [
    { key: "service.name", value: { stringValue: "heddle-test" } },
  ]);
  assert.deepEqual(
    resourceSpans[0]?.scopeSpans[0]?.spans.map(({ name }) => name),
    ["orders"],
  );
});

test("an address without a path is the collector's, and a collector that refuses is heard of", async (t) => {
  const collector = await startCollector(t, (response) => response.writeHead(400).end("no spans today"));
  const logger = new LogBook();
  const stop = await exportTraces({ url: collector.url, serviceName: "heddle-test", logger });
  t.after(() => {
    trace.disable();
    context.disable();
  });
  trace.getTracer("user").startSpan("a").end();
  await stop();
  assert.equal(collector.received[0]?.path, "/v1/traces");
  assert.ok(logger.find("warn", /spans could not be sent/), JSON.stringify(logger.lines));
});

test("without the packages for it, the error says which to install", async (t) => {
  // A project that has the API, as everybody has, and nothing else.
  const project = temporaryFolder(t);
  for (const folder of ["base", "telemetry"])
    cpSync(join(root, "src", folder), join(project, "src", folder), { recursive: true });
  mkdirSync(join(project, "node_modules/@opentelemetry"), { recursive: true });
  symlinkSync(
    join(root, "node_modules/@opentelemetry/api"),
    join(project, "node_modules/@opentelemetry/api"),
    "junction",
  );
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(project, "try.ts"),
    `import { exportTraces } from "./src/telemetry/otlp.ts";
    await exportTraces({ url: "http://127.0.0.1:1/v1/traces", serviceName: "x" }).catch((error) => {
      process.stdout.write(JSON.stringify({ code: error.code, message: error.message }));
    });`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [join(project, "try.ts")]);
  const { code, message } = JSON.parse(stdout) as { code: string; message: string };
  assert.equal(code, "OPTION_INVALID");
  assert.match(message, /npm install @opentelemetry\/sdk-trace-node @opentelemetry\/exporter-trace-otlp-http$/);
});
