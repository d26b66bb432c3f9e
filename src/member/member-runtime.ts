import type { CallClient } from "../runtime/call-client.ts";
import type { CallHandler } from "../runtime/call-handler.ts";
import type { Region } from "../runtime/region.ts";

/** The shards of a member, and both sides of calls. They are made after the member, because they need it. */
export interface MemberRuntime {
  readonly region: Region;
  readonly client: CallClient;
  readonly handler: CallHandler;
  /** Answers a question of another member about this process. */
  readonly answer: (body: unknown) => Promise<unknown>;
  /** Writes jobs, workflows and definitions that this process knows and the store may lack. */
  readonly record: () => Promise<void>;
}
