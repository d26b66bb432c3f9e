import type { Bus } from "../cluster/bus.ts";
import { InProcessBus } from "../cluster/in-process-bus.ts";
import { systemClock } from "./system-clock.ts";

/** A bus for the members of a cluster in one process. */
export function inProcessBus(): Bus {
  return new InProcessBus({ clock: systemClock });
}
