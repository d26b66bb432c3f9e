import type { FeedEntry } from "./feed-entry.ts";

/** What a subscription is about. */
export type Topic = { readonly instanceId: string } | { readonly workflow: string } | { readonly all: true };

/** About more than one instance. */
export function isWide(topic: Topic): boolean {
  return !("instanceId" in topic);
}

export function concerns(topic: Topic, entry: FeedEntry): boolean {
  if ("instanceId" in topic) return topic.instanceId === entry.instanceId;
  return "all" in topic || topic.workflow === entry.workflowName;
}
