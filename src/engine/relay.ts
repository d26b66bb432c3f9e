import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import type { Region } from "../runtime/region.ts";
import type { ProgressListeners } from "./progress-listeners.ts";
import type { WorkerListeners } from "./worker-listeners.ts";
import { RelayFollower, type RelayMembers } from "./relay-follower.ts";
import { RelaySource } from "./relay-source.ts";

/** Both ends of the relay of changes between members. */
export class Relay {
  readonly source: RelaySource;
  readonly follower: RelayFollower;

  constructor(parts: {
    readonly member: RelayMembers;
    readonly region: Pick<Region, "subscribe" | "shardsOpened">;
    readonly workers: Pick<WorkerListeners, "add">;
    readonly progress: Pick<ProgressListeners, "add">;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
  }) {
    this.source = new RelaySource(parts);
    this.follower = new RelayFollower(parts);
  }

  stop(): void {
    this.follower.stop();
    this.source.stop();
  }
}
