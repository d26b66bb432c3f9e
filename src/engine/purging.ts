import { EngineError, hasCode } from "../base/error.ts";
import { qualify } from "../base/namespace.ts";
import { hasEnded } from "../kernel/status.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { InstanceCalls } from "./instance-calls.ts";

/** Removes every trace of ended instances. An id that was used again has several generations, and all of them go. */
export class Purging {
  readonly #namespace: string;
  readonly #instances: InstanceCalls;
  readonly #calls: CallClient;

  constructor(namespace: string, instances: InstanceCalls, calls: CallClient) {
    this.#namespace = namespace;
    this.#instances = instances;
    this.#calls = calls;
  }

  /**
   * Returns how many instances were removed, and calls `onPurged` with each id that is gone. `INSTANCE_UNKNOWN`,
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
      purged += await this.#purgeGenerations(id);
      options.onPurged?.(id);
    }
    return purged;
  }

  /** The instances that it started, and those they started, the youngest first. `INSTANCE_STATE` if one has not ended. */
  async #descendants(instanceId: string): Promise<string[]> {
    const ids: string[] = [];
    for (const child of await this.#childrenOf(instanceId)) {
      try {
        await this.#refuseUnended(child);
        ids.push(...(await this.#descendants(child)), child);
      } catch (error) {
        if (!hasCode(error, "INSTANCE_UNKNOWN")) throw error;
      }
    }
    return ids;
  }

  /** The ids that its code has chosen for children may be those of other instances, of which it started none. */
  async #childrenOf(id: string): Promise<string[]> {
    const { key } = await this.#instances.read({ type: "GetIdentity", id });
    const { tasks } = await this.#instances.read({ type: "GetStatus", id });
    const named = new Set(tasks.flatMap(({ childInstanceId }) => childInstanceId ?? []));
    const children: string[] = [];
    for (const child of named) if (await this.#isChild(child, key)) children.push(child);
    return children;
  }

  async #isChild(id: string, parentKey: number): Promise<boolean> {
    try {
      return (await this.#instances.read({ type: "GetIdentity", id })).parentKey === parentKey;
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return false;
      throw error;
    }
  }

  async #purgeGenerations(instanceId: string): Promise<number> {
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
      // An instance that is being read or reopened is not removed.
      if ((await this.#calls.purge([{ key, id: qualify(this.#namespace, id) }])) > 0) return;
    }
  }

  async #refuseUnended(instanceId: string): Promise<number> {
    const { key, status } = await this.#instances.read({ type: "GetIdentity", id: instanceId });
    if (hasEnded(status)) return key;
    throw new EngineError(
      "INSTANCE_STATE",
      `cannot purge instance "${instanceId}": it is ${status}; terminate it first`,
    );
  }
}
