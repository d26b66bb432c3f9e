import { WorkflowBuilder } from "../../src/authoring/workflow-builder.ts";
import { Workflow } from "../../src/authoring/workflow.ts";
import { EngineError, type ErrorCode } from "../../src/base/error.ts";
import type { Task } from "../../src/authoring/task.ts";

/** What the driving process asks of a member. */
export interface Request {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** What a member says: that it is up, or why it is not; and its answers. */
export type Reply =
  | { readonly about: "start"; readonly problem?: Problem }
  | { readonly about: number; readonly value?: unknown; readonly problem?: Problem };

export interface Problem {
  /** Undefined: not an error of the engine's own. */
  readonly code: ErrorCode | undefined;
  readonly message: string;
}

export function problemOf(error: unknown): Problem {
  const code = error instanceof EngineError ? error.code : undefined;
  return { code, message: error instanceof Error ? error.message : String(error) };
}

export function errorOf({ code, message }: Problem): Error {
  return code === undefined ? new Error(message) : new EngineError(code, message);
}

/** A task as text, in a workflow of its own: objects with methods do not travel. */
export interface PackedTask {
  readonly name: string;
  readonly spec: string;
}

export function packTask(task: Task): PackedTask {
  const workflow = new WorkflowBuilder().withName(task.name).withTask(task).build();
  return { name: task.name, spec: JSON.stringify(workflow) };
}

export function unpackTask({ name, spec }: PackedTask): Task {
  const task = Workflow.fromJSON(JSON.parse(spec), { name }).task(name);
  if (task === undefined) throw new Error(`there is no task ${name} in what came`);
  return task;
}
