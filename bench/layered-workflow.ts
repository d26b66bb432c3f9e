import { TaskBuilder, type Workflow, WorkflowBuilder } from "../src/index.ts";
import { noOp } from "./no-op.ts";

/** The same for every size, so that large and small differ in depth only. */
export const layerWidth = 100;

/**
 * Layers of tasks; each task waits for two of the layer before, and those of the second layer for four, which makes two
 * edges for every task of the whole.
 */
export function layeredWorkflow(nodes: number): Workflow {
  const builder = new WorkflowBuilder().withName(`layered ${nodes}`).withMaxConcurrentTasks(layerWidth);
  for (let node = 0; node < nodes; node++) {
    const layer = Math.floor(node / layerWidth);
    const edges = layer === 0 ? 0 : layer === 1 ? 4 : 2;
    const before = Array.from(
      { length: edges },
      (_, edge) => (layer - 1) * layerWidth + ((node + 7 * edge) % layerWidth),
    );
    builder.withTask(
      new TaskBuilder(`n${node}`).withJobFunction(noOp).withDependencies(before.map((other) => `n${other}`)),
    );
  }
  return builder.build();
}
