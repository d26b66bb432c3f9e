import { deepEqual, equal } from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import type { LoopWorkEntry } from "./loop-work-table.ts";
import { type Stall, stallLine } from "./stall-line.ts";

const at = new Date(Date.UTC(2026, 0, 5, 12));
const code: LoopWorkEntry = { kind: "code", instanceId: "o-1", workflowName: "order", step: "3", phase: "reacting" };
const job: LoopWorkEntry = { kind: "job", instanceId: "o-2", workflowName: "order", step: "pay", phase: "waiting" };

function stall(named: readonly LoopWorkEntry[], count = named.length): Stall {
  return { level: "warn", message: "the event loop is blocked", stalledMs: 2000, suspects: { named, count } };
}

test("one suspect is named by the fields of the line, in each format", () => {
  equal(
    stallLine(stall([code]), "json", at),
    '{"time":"2026-01-05T12:00:00.000Z","level":"warn","message":"the event loop is blocked","stalledMs":2000,"kind":"code","instanceId":"o-1","workflowName":"order","step":3}',
  );
  equal(
    stallLine(stall([job]), "words", at),
    'warn the event loop is blocked {"stalledMs":2000,"kind":"job","instanceId":"o-2","workflowName":"order","step":"pay"}',
  );
  deepEqual(JSON.parse(stallLine({ ...stall([job]), level: "error" }, "pino", at)), {
    level: 50,
    time: at.getTime(),
    pid: process.pid,
    hostname: hostname(),
    stalledMs: 2000,
    kind: "job",
    instanceId: "o-2",
    workflowName: "order",
    step: "pay",
    msg: "the event loop is blocked",
  });
});

test("several suspects are listed, ten at most, and counted", () => {
  const fields = (line: string): { suspectCount?: number; suspects?: unknown[]; kind?: string } =>
    JSON.parse(line) as object;
  const two = fields(stallLine(stall([code, job]), "json", at));
  equal(two.suspectCount, 2);
  deepEqual(two.suspects?.[1], { kind: "job", instanceId: "o-2", workflowName: "order", step: "pay" });
  const many = fields(
    stallLine(
      stall(
        Array.from({ length: 96 }, () => job),
        500,
      ),
      "json",
      at,
    ),
  );
  equal(many.suspectCount, 500);
  equal(many.suspects?.length, 10);
  equal(fields(stallLine(stall([code], 2), "json", at)).kind, undefined);
});

test("without a suspect the line says how long alone", () => {
  equal(stallLine(stall([]), "words", at), 'warn the event loop is blocked {"stalledMs":2000}');
});
