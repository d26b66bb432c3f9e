import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Region } from "../runtime/region.ts";
import { changeOf, type InstanceChange } from "./instance-change.ts";

/** Calls the listener after every durable change of the instances that are wanted, by their qualified ids. */
export function subscribeTo(
  { region, options: { logger } }: { readonly region: Region; readonly options: { readonly logger: Logger } },
  listener: (change: InstanceChange) => void,
  isWanted: (instanceId: string) => boolean,
): () => void {
  return region.subscribe((turn) => {
    if (!isWanted(turn.instanceId)) return;
    try {
      listener(changeOf(turn));
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "a subscriber threw; it is called again for the next change");
    }
  });
}
