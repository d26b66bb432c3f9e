import { EngineError, hasCode } from "../base/error.ts";
import { hasEnded, type InstanceStatus } from "../kernel/status.ts";

export interface PurgingParts {
  /** `INSTANCE_UNKNOWN`. */
  readonly identityOf: (instanceId: string) => Promise<{ readonly key: number; readonly status: InstanceStatus }>;
  /** The instances that it started. */
  readonly childrenOf: (instanceId: string) => Promise<string[]>;
  /** False if somebody is looking at it, or is reopening it. */
  readonly remove: (instance: { readonly key: number; readonly id: string }) => Promise<boolean>;
}

/** Removes every trace of ended instances. An id that was used again has several lives, and all of them go. */
export class Purging {
  readonly #parts: PurgingParts;

  constructor(parts: PurgingParts) {
    this.#parts = parts;
  }

  /**
   * Gives back how many instances there were, and tells each id of which none is left. `INSTANCE_UNKNOWN`,
   * `INSTANCE_STATE`.
   */
  async purge(
    instanceId: string,
    options: { recursive: boolean; onPurged?: ((instanceId: string) => void) | undefined },
  ): Promise<number> {
    await this.#refuseUnended(instanceId);
    const family = options.recursive ? await this.#descendants(instanceId) : [];
    let purged = 0;
    for (const id of [...family, instanceId]) {
      purged += await this.#purgeLives(id);
      options.onPurged?.(id);
    }
    return purged;
  }

  /** The instances that it started, and those they started, the youngest first. `INSTANCE_STATE` if one has not ended. */
  async #descendants(instanceId: string): Promise<string[]> {
    const ids: string[] = [];
    for (const child of await this.#parts.childrenOf(instanceId)) {
      try {
        await this.#refuseUnended(child);
        ids.push(...(await this.#descendants(child)), child);
      } catch (error) {
        if (!hasCode(error, "INSTANCE_UNKNOWN")) throw error;
      }
    }
    return ids;
  }

  async #purgeLives(instanceId: string): Promise<number> {
    await this.#purgeNewest(instanceId);
    for (let purged = 1; ; purged++) {
      try {
        await this.#purgeNewest(instanceId);
      } catch (error) {
        if (hasCode(error, "INSTANCE_UNKNOWN")) return purged;
        throw error;
      }
    }
  }

  async #purgeNewest(id: string): Promise<void> {
    for (;;) {
      const key = await this.#refuseUnended(id);
      if (await this.#parts.remove({ key, id })) return;
    }
  }

  async #refuseUnended(instanceId: string): Promise<number> {
    const { key, status } = await this.#parts.identityOf(instanceId);
    if (hasEnded(status)) return key;
    throw new EngineError(
      "INSTANCE_STATE",
      `cannot purge instance "${instanceId}": it is ${status}; terminate it first`,
    );
  }
}
