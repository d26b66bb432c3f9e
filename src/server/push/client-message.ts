import { z } from "zod";
import { anyId, name } from "../../api/common-schemas.ts";
import { type Cursor, parseCursor } from "./cursor.ts";
import type { Topic } from "./topic.ts";

/** A message of a WebSocket client. */
export type ClientMessage =
  | { readonly type: "subscribe"; readonly id: string; readonly topic: Topic; readonly since: Cursor | undefined }
  | { readonly type: "subscribe-members"; readonly id: string }
  | { readonly type: "unsubscribe"; readonly id: string }
  | { readonly type: "ping" };

const id = z.string().min(1).max(64);

const wireMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("subscribe"),
    id,
    instanceId: anyId.optional(),
    workflow: name.optional(),
    all: z.literal(true).optional(),
    members: z.literal(true).optional(),
    cursor: z.string().max(200).optional(),
  }),
  z.strictObject({ type: z.literal("unsubscribe"), id }),
  z.strictObject({ type: z.literal("ping") }),
]);

/** Parses a message, or returns its problem. */
export function readMessage(text: string): ClientMessage | { readonly problem: string; readonly id?: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problem: 'a message is JSON, such as {"type":"subscribe","id":"1","all":true}' };
  }
  const read = wireMessage.safeParse(json);
  if (!read.success) return { problem: problemOf(read.error), ...idOf(json) };
  const message = read.data;
  if (message.type !== "subscribe") return message;
  if (message.members === true) return membersMessage(message);
  const topic = topicOf(message);
  if (typeof topic === "string") return { problem: topic, id: message.id };
  const since = message.cursor === undefined ? undefined : parseCursor(message.cursor);
  if (message.cursor !== undefined && since === undefined) return { problem: noCursor, id: message.id };
  return { type: "subscribe", id: message.id, topic, since };
}

/** A `members` subscription has no cursor: after a reconnect, the client reads the status. */
function membersMessage(message: {
  readonly id: string;
  readonly instanceId?: string | undefined;
  readonly workflow?: string | undefined;
  readonly all?: true | undefined;
  readonly cursor?: string | undefined;
}): ClientMessage | { readonly problem: string; readonly id: string } {
  const { id, instanceId, workflow, all, cursor } = message;
  const isAlone = instanceId === undefined && workflow === undefined && all === undefined && cursor === undefined;
  return isAlone ? { type: "subscribe-members", id } : { problem: membersAlone, id };
}

export const membersAlone = "a subscription of members has no other topic and no cursor";

export const noCursor = "that is no cursor: give back the one of the last message, or none to begin with now";

/** The topic, exactly one of three; otherwise the problem. */
export function topicOf(given: {
  readonly instanceId?: string | undefined;
  readonly workflow?: string | undefined;
  readonly all?: true | undefined;
}): Topic | string {
  const { instanceId, workflow, all } = given;
  const topics: Topic[] = [];
  if (instanceId !== undefined) topics.push({ instanceId });
  if (workflow !== undefined) topics.push({ workflow });
  if (all !== undefined) topics.push({ all });
  const [topic] = topics;
  return topic === undefined || topics.length > 1
    ? "say what to watch: one of instanceId, workflow, all and members"
    : topic;
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.join(".") ?? "";
  return `${path === "" ? "the message" : path}: ${issue?.message ?? "does not fit"}`;
}

/** The id of an invalid message, for its error. */
function idOf(json: unknown): { id: string } | undefined {
  const read = z.object({ id }).safeParse(json);
  return read.success ? { id: read.data.id } : undefined;
}
