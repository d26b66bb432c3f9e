import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../src/authoring/workflow-builder.ts";

/** A workflow of tasks, each made ready by the caller. */
export function workflow(name: string, ...tasks: readonly TaskBuilder[]): Workflow {
  return builder(name, ...tasks).build();
}

export function builder(name: string, ...tasks: readonly TaskBuilder[]): WorkflowBuilder {
  const builder = new WorkflowBuilder().withName(name);
  for (const task of tasks) builder.withTask(task.build());
  return builder;
}

/** A task of the job called "work", or another. */
export function task(name: string, job = "work", params?: unknown): TaskBuilder {
  return new TaskBuilder(name).withJobFunction(job, params);
}

export function nested(name: string, inner: Workflow): TaskBuilder {
  return new TaskBuilder(name).withNestedWorkflow(inner);
}

export function decision(name: string, expression: string): TaskBuilder {
  return new TaskBuilder(name).withDecision(expression);
}

/** One after the other. */
export function chain(name: string, ...names: readonly string[]): Workflow {
  return workflow(
    name,
    ...names.map((each, place) => {
      const before = names[place - 1];
      return before === undefined ? task(each) : task(each).withDependency(before);
    }),
  );
}
