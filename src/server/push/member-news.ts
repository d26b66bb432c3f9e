import type { MemberEvent } from "../../cluster/member-event.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { WorkerNews, WorkerNewsFeed } from "./worker-news.ts";

/** A membership event, as this member sees it. */
export interface MemberNews {
  readonly event: "joined" | "unreachable" | "reachable" | "exited" | "removed";
  readonly member: string;
  readonly address: string;
  /** Epoch ms, by this member's clock. */
  readonly at: number;
}

/** A message to a client that follows members: without its id over a WebSocket, an event of that name over SSE. */
export type MembersMessage =
  | ({ readonly type: "member" } & MemberNews)
  | ({ readonly type: "worker" } & WorkerNews)
  | { readonly type: "resync"; readonly reason: string };

const words: Readonly<Partial<Record<MemberEvent["type"], MemberNews["event"]>>> = {
  joined: "joined",
  suspected: "unreachable",
  returned: "reachable",
  left: "exited",
  lost: "removed",
};

const gap = "events of workers may be missing: GET /api/cluster/workers lists the workers";

/**
 * Subscribes to what happens to members and to the remote workers of the namespace, from now on; `GET /api/cluster/status`
 * and `GET /api/cluster/workers` have the current ones. `ready` resolves when every member sends the events of its workers.
 */
export function followMembers(
  { engine, workers }: { readonly engine: Pick<EngineNamespace, "onMemberEvent">; readonly workers: WorkerNewsFeed },
  listener: (message: MembersMessage) => void,
): { readonly ready: Promise<void>; readonly stop: () => void } {
  const stopMembers = engine.onMemberEvent((happened) => {
    const event = words[happened.type];
    if (event === undefined || !("address" in happened)) return;
    listener({ type: "member", event, member: happened.member, address: happened.address, at: Date.now() });
  });
  const followed = workers.follow({
    onNews: (news) => listener({ type: "worker", ...news }),
    onGap: () => listener({ type: "resync", reason: gap }),
  });
  const stop = (): void => {
    stopMembers();
    followed.stop();
  };
  return { ready: followed.ready, stop };
}
