import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { type LoopWorkEntry, LoopWorkTable, loopWorkBytes } from "../engine/loop-work-table.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import { noCode } from "./no-code.rig.ts";
import { DagActor } from "./dag-actor.ts";
import type { DagDefinition } from "./definitions.ts";
import { Expressions, type ExpressionScope } from "../expressions/expression.ts";
import type { TimeBudget } from "../expressions/expression-cost.ts";
import { RigShard, RigStore } from "./shard.rig.ts";

const table = new LoopWorkTable(new SharedArrayBuffer(loopWorkBytes));

/** Looks at what is under way while an expression is evaluated. */
class SeenExpressions extends Expressions {
  readonly seen: LoopWorkEntry[][] = [];

  override evaluate(expression: string, scope: ExpressionScope, budget: TimeBudget): unknown {
    this.seen.push(table.list());
    return super.evaluate(expression, scope, budget);
  }
}

class WatchedShard extends RigShard {
  override readonly expressions = new SeenExpressions();
  override readonly code = { ...noCode, loopWatch: table };
}

for (const expression of ["true", "1 / 0 == 1"]) {
  test(`a watchdog is told of the decision ${expression} while it is evaluated, and not after it`, async () => {
    const spec: DagSpec = {
      nodes: [{ nodeId: 1, nodeType: 2, nodeName: "is large?", nodeParams: expression }],
      edges: [],
    };
    const definition: DagDefinition = { kind: "dag", name: "sizes", version: "1", spec, graph: new Graph(spec) };
    const store = new RigStore();
    await store.open();
    const shard = new WatchedShard(0, await store.claim(0));
    const actor = new DagActor(shard, definition, "order-1", 1);
    const start = { type: "StartInstance", workflow: "sizes", version: "1", generation: 1, context: {} } as const;
    actor.tell({ input: { ...start, trigger: "api", admission: "run" } });
    actor.openTurn(0, 0.5);
    const entry = {
      kind: "decision",
      instanceId: "order-1",
      workflowName: "sizes",
      step: "is large?",
      phase: "running",
    };
    deepEqual(shard.expressions.seen, [[entry]]);
    deepEqual(table.list(), []);
  });
}
