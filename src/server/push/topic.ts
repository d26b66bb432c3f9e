import type { FeedEntry } from "./feed-entry.ts";

/** The topic of a subscription. */
export type Topic = { readonly instanceId: string } | { readonly workflow: string } | { readonly all: true };

/** True if the topic covers several instances. */
export function isWide(topic: Topic): boolean {
  return !("instanceId" in topic);
}

export function concerns(topic: Topic, entry: FeedEntry): boolean {
  if ("instanceId" in topic) return topic.instanceId === entry.instanceId;
  return "all" in topic || topic.workflow === entry.workflowName;
}
