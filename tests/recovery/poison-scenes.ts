import { TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import type { Workflow } from "../../src/index.ts";

export interface SceneInstance {
  readonly id: string;
  readonly workflow: Workflow;
}

/** Long enough that no life of a poisoned process lets it finish: it runs in every one of them. */
const longMs = 800;

/** What a poisoned process has to do: the poison, and the innocent around it. */
export const scenes = {
  exit: poisoned("exit"),
  "exit-later": poisoned("exit-later"),
  abort: poisoned("abort"),
  "throw-later": poisoned("throw-later"),
  "exit-in-thread": poisoned("exit-in-thread"),
  /** The poison is first in every order, so that the innocent wait for it. */
  "poison-first": poisoned("exit").toReversed(),
  /** When the first is found out the second begins, and then the third. */
  "one-after-another": [
    instance("poisoned", [
      task("delay", "innocent", { ms: 250 }),
      task("poison", "exit").withDependency("delay").withSkipWhenFailed(),
      task("poison-2", "exit").withDependency("poison").withSkipWhenFailed(),
      task("poison-3", "exit").withDependency("poison-2"),
    ]),
    ...innocents(),
  ],
  /** Only innocent ones, for kills and stops from outside. */
  innocent: [instance("long", [task("long", "innocent", { ms: 2500 })]), ...innocents()],
} satisfies Record<string, readonly SceneInstance[]>;

export type Scene = keyof typeof scenes;

function poisoned(job: string): SceneInstance[] {
  return [
    ...innocents(),
    // In one instance with the poison, under the policy that lets other branches go on.
    instance("mixed", [
      task("quick", "innocent", { ms: 5 }),
      task("long", "innocent", { ms: longMs }),
      task("poison", job).withDependency("quick"),
      task("never", "innocent", { ms: 5 }).withDependency("poison"),
      task("after", "innocent", { ms: 5 }).withDependency("long"),
    ]),
    instance("poisoned", [task("delay", "innocent", { ms: 150 }), task("poison", job).withDependency("delay")]),
  ];
}

function innocents(): SceneInstance[] {
  return [0, 20, 150, 400, longMs].map((ms, i) =>
    instance(`innocent-${i}`, [
      task("first", "innocent", { ms }),
      task("second", "innocent", { ms }).withDependency("first"),
      task("beside", "innocent", { ms }),
    ]),
  );
}

function instance(id: string, tasks: readonly TaskBuilder[]): SceneInstance {
  const workflow = new WorkflowBuilder().withName(id).withFailurePolicy("continue");
  for (const each of tasks) workflow.withTask(each);
  return { id, workflow: workflow.build() };
}

function task(name: string, job: string, params?: unknown): TaskBuilder {
  return new TaskBuilder(name).withJobFunction(job, params);
}
