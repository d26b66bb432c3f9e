import { TaskBuilder, WorkflowBuilder } from "../../../src/index.ts";

const builder = new WorkflowBuilder().withName("shards").withTask(new TaskBuilder("begin").withJobFunction("work", 1));
for (let i = 0; i < 5; i++) {
  builder.withTask(new TaskBuilder(`shard${i}`).withJobFunction("work", i * 3).withDependency("begin"));
}

/** begin → five shards → end. */
export const shards = builder
  .withTask(
    new TaskBuilder("end")
      .withJobFunction("work", 1)
      .withDependencies(Array.from({ length: 5 }, (_, i) => `shard${i}`)),
  )
  .build();
