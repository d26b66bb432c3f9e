/**
 * Random DAGs, random outcomes in random order, and users who interfere: after every step the machine must stand exactly
 * where the model (dag-model.ts) stands. A failing run prints its seed and the shortest run that fails too.
 */
import { test } from "node:test";
import * as fc from "fast-check";
import type { DagSpec, EdgeSpec } from "../../src/kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../../src/kernel/node-spec.ts";
import { DagRun, type RunOptions } from "./dag-run.ts";
import { finish, type StepName, steps } from "./dag-steps.ts";

const node: fc.Arbitrary<Partial<NodeSpec>> = fc.record(
  {
    nodeType: fc.constantFrom(1, 1, 1, 1, 2, 3),
    enable: fc.constantFrom(true, true, true, true, false),
    skipWhenFailed: fc.constantFrom(false, false, false, true),
    retryCount: fc.constantFrom(0, 0, 1, 2),
  },
  { requiredKeys: ["nodeType"] },
);

interface Arrow {
  readonly from: number;
  readonly to: number;
  readonly property: string;
  readonly enable: boolean;
}

const arrow: fc.Arbitrary<Arrow> = fc.record({
  from: fc.nat(8),
  to: fc.nat(8),
  property: fc.constantFrom("true", "false"),
  enable: fc.constantFrom(true, true, true, true, true, true, false),
});

const options: fc.Arbitrary<RunOptions> = fc
  .record({
    nodes: fc.array(node, { minLength: 1, maxLength: 8 }),
    arrows: fc.array(arrow, { maxLength: 16 }),
    failurePolicy: fc.constantFrom("finish-running", "abort-running", "continue"),
    timeoutSeconds: fc.constantFrom(undefined, undefined, undefined, 20),
    placesMax: fc.integer({ min: 1, max: 6 }),
    isQueued: fc.constantFrom(false, false, false, true),
    isChild: fc.boolean(),
  })
  .map(({ nodes, arrows, failurePolicy, timeoutSeconds, ...rest }) => {
    const spec: DagSpec = {
      nodes: nodes.map((extra, nodeId) => ({ nodeId, nodeName: `n${nodeId}`, ...extra })),
      edges: arrows.flatMap((each) => edgeOf(each, nodes.length)),
      failurePolicy,
      ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    };
    return { spec, ...rest };
  });

/** Always from a lower number to a higher, so nothing runs in a circle; two between the same nodes may well come. */
function edgeOf({ from: one, to: other, property, enable }: Arrow, size: number): EdgeSpec[] {
  const [from, to] = [Math.min(one, other) % size, Math.max(one, other) % size];
  return from < to ? [{ from, to, property, enable }] : [];
}

/** How often each step comes, beside the others. */
const weights: Readonly<Record<StepName, number>> = {
  complete: 30,
  start: 6,
  withdraw: 4,
  wait: 8,
  pause: 2,
  resume: 4,
  terminate: 1,
  retry: 3,
  retryByParent: 2,
  rerun: 3,
  succeedNode: 2,
  skipNode: 2,
  stopNode: 3,
  updateContext: 2,
  updateParams: 2,
  addSubTask: 3,
  admit: 2,
  stale: 4,
  replay: 3,
};

const step = fc.record({
  name: fc.oneof(
    ...Object.entries(weights).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as StepName) })),
  ),
  choice: fc.record({ which: fc.nat(1000), how: fc.nat(10_000) }),
});

const script = fc.array(step, { maxLength: 60, size: "max" });

test("whatever happens, a DAG instance is where the model is, and ends", () => {
  fc.assert(
    fc.property(options, script, (options, script) => {
      const run = new DagRun(options);
      for (const { name, choice } of script) steps[name](run, choice);
      run.replay();
      finish(run);
      run.replay();
    }),
    { numRuns: 4000 },
  );
});
