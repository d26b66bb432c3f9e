/**
 * Code that does random things, reports in random order, and users who interfere: after every step the machine must stand
 * exactly where the model (code-model.ts) stands, and so must a machine that has only followed the events. A failing run
 * prints its seed and the shortest run that fails too.
 */
import { test } from "node:test";
import * as fc from "fast-check";
import { CodeModelRun, type RunOptions } from "./code-model-run.ts";
import { finish, type StepName, steps } from "./code-model-steps.ts";

const options: fc.Arbitrary<RunOptions> = fc.record({
  timeoutMs: fc.constantFrom(undefined, undefined, undefined, 20_000),
  isChild: fc.boolean(),
});

/** How often each step comes, beside the others. */
const weights: Readonly<Record<StepName, number>> = {
  code: 30,
  codeEnds: 4,
  complete: 25,
  endDetached: 3,
  start: 6,
  withdraw: 4,
  wait: 10,
  pause: 3,
  resume: 6,
  terminate: 1,
  cancel: 2,
  heed: 2,
  retry: 4,
  retryByParent: 2,
  raise: 2,
  update: 4,
  stop: 3,
  ofDags: 1,
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

test("whatever happens, an instance of code is where the model is, and ends", () => {
  fc.assert(
    fc.property(options, script, (options, script) => {
      const run = new CodeModelRun(options);
      for (const { name, choice } of script) steps[name](run, choice);
      run.replay();
      finish(run);
      run.replay();
    }),
    { numRuns: 3000 },
  );
});
