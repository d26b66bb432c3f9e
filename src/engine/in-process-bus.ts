import type { Bus } from "../cluster/bus.ts";
import { InProcessBus } from "../cluster/in-process-bus.ts";
import { systemClock } from "./system-clock.ts";

/** For members of a cluster that live in one process. */
export function inProcessBus(): Bus {
  return new InProcessBus({ clock: systemClock });
}
