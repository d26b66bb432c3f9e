import type { MemberEvent } from "../../cluster/member-event.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";

/** A membership event, as this member sees it. */
export interface MemberNews {
  readonly event: "joined" | "unreachable" | "reachable" | "exited" | "removed";
  readonly member: string;
  readonly address: string;
  /** Epoch ms, by this member's clock. */
  readonly at: number;
}

const words: Readonly<Partial<Record<MemberEvent["type"], MemberNews["event"]>>> = {
  joined: "joined",
  suspected: "unreachable",
  returned: "reachable",
  left: "exited",
  lost: "removed",
};

/** Subscribes to membership events, from now on; `GET /api/cluster/status` has the current members. Returns a function that ends it. */
export function followMembers(
  engine: Pick<EngineNamespace, "onMemberEvent">,
  listener: (news: MemberNews) => void,
): () => void {
  return engine.onMemberEvent((happened) => {
    const event = words[happened.type];
    if (event === undefined || !("address" in happened)) return;
    listener({ event, member: happened.member, address: happened.address, at: Date.now() });
  });
}
