/** Spec §13.1: what ships for Prometheus and Grafana asks for nothing that is not there. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import type { GaugedEngine } from "../../src/telemetry/engine-gauges.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";

const root = join(import.meta.dirname, "../..");
const rulesFile = "deploy/prometheus/heddle.rules.yml";
const boards = globSync("deploy/grafana/*.json", { cwd: root }).toSorted();

/** Of PromQL: what looks like the name of a metric and is none. */
const keywords = new Set(["and", "or", "unless", "bool", "offset"]);
/** Given by Prometheus itself, or by the default metrics of Node. */
const foreignLabels = ["instance", "job", "le", "kind"];

interface Board {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly w: number };
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

function registryOf(): { names: Set<string>; labels: Set<string> } {
  const metrics = new Metrics();
  const none = (): (() => void) => () => undefined;
  metrics.watch({ subscribeAll: none, onMemberEvent: none } as unknown as GaugedEngine & {
    subscribeAll(): () => void;
  });
  const names = new Set<string>();
  const labels = new Set(foreignLabels);
  for (const metric of metrics.registry.getMetricsAsArray()) {
    const { name, type, labelNames = [] } = metric as unknown as { name: string; type: string; labelNames?: string[] };
    if (type === "histogram") for (const part of ["bucket", "sum", "count"]) names.add(`${name}_${part}`);
    else names.add(name);
    for (const label of labelNames) labels.add(label);
  }
  return { names, labels };
}

const registry = registryOf();

interface Asked {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

/** The names in an expression. */
function askedBy(expression: string): Asked {
  const labels: string[] = [];
  const note = (names: string): string => {
    labels.push(...names.split(",").map((name) => name.trim()));
    return " ";
  };
  const bare = expression
    .replaceAll(/\{([^}]*)\}/g, (_, matchers: string) => note(matchers.replaceAll(/[=!~]+"[^"]*"/g, "")))
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, names: string) => note(names))
    .replaceAll(/\[[^\]]*\]/g, " ");
  const metrics = bare.match(/[a-z_][a-z0-9_]*(?!\w*\s*\()\b/gi) ?? [];
  return { metrics: metrics.filter((name) => !keywords.has(name)), labels };
}

function ruleExpressions(): string[] {
  return [...readFileSync(join(root, rulesFile), "utf8").matchAll(/^ +expr: (.*)$/gm)].map(([, expr]) => expr ?? "");
}

function readBoard(path: string): Board {
  return JSON.parse(readFileSync(join(root, path), "utf8")) as Board;
}

function check(expression: string, where: string): void {
  const { names, labels } = registry;
  const asked = askedBy(expression);
  assert.ok(asked.metrics.length > 0, `${where}: no metric in ${expression}`);
  for (const name of asked.metrics) assert.ok(names.has(name), `${where}: there is no metric ${name}`);
  for (const label of asked.labels) assert.ok(labels.has(label), `${where}: no metric has the label ${label}`);
}

test("the names in an expression are found", () => {
  const expression =
    'topk(10, sum by (le, task) (rate(a_bucket{task=~"$t",x!="y"}[5m])) / on (job) b > 0.1) or c_total';
  assert.deepEqual(askedBy(expression), {
    metrics: ["a_bucket", "b", "c_total"],
    labels: ["task", "x", "le", "task", "job"],
  });
  assert.throws(() => check("rate(dag_workflow_lost_total[5m])", "here"), /no metric dag_workflow_lost_total/);
  assert.throws(() => check("sum by (color) (dag_mailbox_size)", "here"), /label color/);
});

describe("the alert rules", () => {
  test("are those of the specification, each complete", () => {
    const text = readFileSync(join(root, rulesFile), "utf8");
    const rules = text.split(/^ {6}- alert: /m).slice(1);
    assert.deepEqual(
      rules.map((rule) => rule.split("\n")[0]),
      ["HighWorkflowFailureRate", "QueueBacklog", "ClusterNodeUnreachable", "LongRunningTask"],
    );
    for (const rule of rules) {
      assert.match(rule, /^ {8}expr: .+\n/m);
      assert.match(rule, /^ {8}labels:\n {10}severity: (warning|critical)\n/m);
      assert.match(rule, /^ {8}annotations:\n {10}summary: ".+"\n {10}description: ".+"\n/m);
    }
    assert.doesNotMatch(text, /\t/);
    assert.match(rules[0] ?? "", /> 0\.1\n +for: 5m\n/);
    assert.match(rules[1] ?? "", /> 100\n +for: 10m\n/);
    assert.match(rules[2] ?? "", /> 0\n +for: 2m\n +labels:\n +severity: critical\n/);
    assert.match(rules[3] ?? "", /> 3600\n/);
  });

  test("ask for metrics that exist", () => {
    for (const expression of ruleExpressions()) check(expression, rulesFile);
  });

  test("hold before promtool, where it is installed", async (t) => {
    const promtool = promisify(execFile);
    try {
      await promtool("promtool", ["--version"]);
    } catch {
      t.diagnostic("promtool is not installed (Debian's package prometheus has it): the structure alone was checked");
      return;
    }
    await promtool("promtool", ["check", "rules", join(root, rulesFile)]);
    await promtool("promtool", ["test", "rules", join(import.meta.dirname, "heddle-rules-test.yml")]);
  });
});

describe("the boards", () => {
  test("are there: overview, tasks, queues, cluster, resources", () => {
    assert.deepEqual(
      boards.map((path) => path.replace(/^.*\//, "")),
      ["cluster.json", "overview.json", "queues.json", "resources.json", "tasks.json"],
    );
    assert.equal(new Set(boards.map((path) => readBoard(path).uid)).size, boards.length);
    const slowest = readBoard("deploy/grafana/tasks.json").panels.find(({ title }) => /ten slowest/.test(title));
    assert.match(slowest?.targets[0]?.expr ?? "", /^topk\(10, /);
  });

  for (const path of boards) {
    test(`${path} asks for metrics that exist`, () => {
      const { panels, templating, title } = readBoard(path);
      assert.ok(title.startsWith("Heddle: "));
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
      for (const { title: panel, targets, gridPos } of panels) {
        assert.ok(targets.length > 0 && gridPos.x + gridPos.w <= 24, panel);
        for (const { expr } of targets) check(expr, `${path}, ${panel}`);
      }
      for (const { query } of templating.list) {
        const [, metric, label] =
          /^label_values\((\w+), (\w+)\)$/.exec(typeof query === "string" ? "" : query.query) ?? [];
        if (metric !== undefined) check(`sum by (${label}) (${metric})`, path);
      }
    });
  }
});
