import { CodeActor } from "./code-actor.ts";
import { DagActor } from "./dag-actor.ts";
import type { Definition } from "./definitions.ts";
import type { ActorShard } from "./instance-actor.ts";

export function newActor(shard: ActorShard, definition: Definition, id: string, key: number): DagActor | CodeActor {
  return definition.kind === "dag"
    ? new DagActor(shard, definition, id, key)
    : new CodeActor(shard, definition, id, key);
}
