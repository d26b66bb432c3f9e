import { EngineError } from "../base/error.ts";

/**
 * This member does not own the shard (any more). Callers never get this error: the call is repeated at the next owner.
 */
export function shardMoved(shard: number): EngineError {
  return new EngineError("SHARD_MOVED", `shard ${shard} is on its way to another member; repeat the request`);
}
