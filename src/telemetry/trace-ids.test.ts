import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Logger } from "../base/logger.ts";
import { TraceIds } from "./trace-ids.ts";

const given = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${given}-b7ad6b7169203331-01`;

describe("trace ids", () => {
  test("are the same in every process where nobody traces", () => {
    const id = new TraceIds().of("order-1");
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.equal(new TraceIds().of("order-1"), id);
    assert.notEqual(new TraceIds().of("order-2"), id);
  });

  test("are those of the span, then of the traceparent that came with the start", () => {
    const ids = new TraceIds();
    ids.observe({ namespace: "default", instanceId: "given", traceparent });
    ids.remember("traced", "span");
    ids.observe({ namespace: "default", instanceId: "traced", traceparent });
    assert.deepEqual([ids.of("given"), ids.of("traced")], [given, "span"]);
  });

  test("are on every line that names an instance, and on no other", () => {
    const lines: object[] = [];
    const write = (fields: object): void => void lines.push(fields);
    const logger: Logger = { debug: write, info: write, warn: write, error: write };
    const ids = new TraceIds();
    ids.observe({ namespace: "default", instanceId: "i", traceparent });
    const log = ids.addTo(logger);
    for (const level of ["debug", "info", "warn", "error"] as const) log[level]({ instanceId: "i" }, "text");
    log.info({ instanceId: "i", traceId: "own" }, "text");
    log.info({ port: 1 }, "text");
    const line = { instanceId: "i", traceId: given };
    assert.deepEqual(lines, [line, line, line, line, { instanceId: "i", traceId: "own" }, { port: 1 }]);
  });

  test("of many instances do not fill the memory", () => {
    const ids = new TraceIds();
    ids.observe({ namespace: "default", instanceId: "old", traceparent });
    for (let n = 0; n < 10_000; n++) ids.of(`i-${n}`);
    assert.notEqual(ids.of("old"), given);
  });
});
