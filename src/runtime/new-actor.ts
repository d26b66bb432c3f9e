import { CodeActor } from "./code-actor.ts";
import { DagActor } from "./dag-actor.ts";
import type { Definition } from "./definitions.ts";
import type { ActorHost } from "./instance-actor.ts";

export function newActor(host: ActorHost, definition: Definition, id: string, key: number): DagActor | CodeActor {
  return definition.kind === "dag" ? new DagActor(host, definition, id, key) : new CodeActor(host, definition, id, key);
}
