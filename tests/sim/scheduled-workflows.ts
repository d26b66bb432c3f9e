import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../src/authoring/workflow-builder.ts";

/** Longer than any fault lasts, as for all tasks that must not fail by themselves. */
const daySeconds = 86_400;

/** One-task DAGs that schedules start: short, longer than the interval, and failing. */
export const scheduledDags = [
  dag("scheduled-short", "step", 20),
  dag("scheduled-long", "step", 4000),
  dag("scheduled-broken", "broken", 20),
] as const;

function dag(name: string, job: string, ms: number): Workflow {
  const task = new TaskBuilder("t").withJobFunction(job, { ms, value: 1 }).withTimeout(daySeconds);
  return new WorkflowBuilder().withName(name).withTask(task).build();
}
