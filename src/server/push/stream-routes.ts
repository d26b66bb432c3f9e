import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { anyId, name } from "../../api/common-schemas.ts";
import { HttpError } from "../request/http-error.ts";
import { callerOf, setCaller } from "../request/caller.ts";
import { authorizeSubscriber, mayStay } from "./authorization.ts";
import type { ChangeBatch } from "./change-batch.ts";
import { membersAlone, noCursor, topicOf } from "./client-message.ts";
import type { ConnectionLimit } from "./connection-limit.ts";
import { type Cursor, parseCursor } from "./cursor.ts";
import { EventStream, eventText } from "./event-stream.ts";
import { followMembers } from "./member-news.ts";
import type { Outlet } from "./outlet.ts";
import type { PushNamespace, PushParts } from "./push-parts.ts";
import { textOf } from "./socket-client.ts";
import type { Topic } from "./topic.ts";
import { qualify } from "../../base/namespace.ts";

const beatMs = 15_000;

/** Back-pressure: a log reader this far behind is disconnected; it resumes after its last line. */
const logBytesMax = 4 * 1024 * 1024;

const eventsQuery = z.object({
  instanceId: anyId.optional(),
  workflow: name.optional(),
  /** The presence of the parameter is enough. */
  all: z
    .string()
    .transform((): true => true)
    .optional(),
  /** The presence of the parameter is enough. */
  members: z
    .string()
    .transform((): true => true)
    .optional(),
  cursor: z.string().max(200).optional(),
});

const logsQuery = z.object({ after: z.coerce.number().int().min(0).optional() });

/** Server-sent events: changes and task logs. */
export function streamRoutes(app: FastifyInstance, parts: PushParts, connections: ConnectionLimit): void {
  const streams = new Set<EventStream>();

  const open = (request: FastifyRequest, reply: FastifyReply): EventStream => {
    const close = connections.open(callerOf(request).name);
    const stream = new EventStream(reply);
    stream.onClosed(close);
    const beat = setInterval(() => (mayStay(request, parts) ? stream.beat() : stream.end()), beatMs);
    streams.add(stream);
    stream.onClosed(() => {
      clearInterval(beat);
      streams.delete(stream);
    });
    return stream;
  };

  const onRequest = async (request: FastifyRequest): Promise<void> =>
    setCaller(request, authorizeSubscriber(request, parts));

  app.get("/api/events", { onRequest }, async (request, reply) => {
    const { topic, since } = readQuery(request);
    if (topic !== "members") await parts.inNamespace(callerOf(request).namespace).feed.prepare(topic);
    const stream = open(request, reply);
    const space = parts.inNamespace(callerOf(request).namespace);
    if (topic === "members") await sendMembers(stream, space);
    else stream.onClosed(sendChanges(stream, { topic, since, feed: space.feed }));
    return stream.open();
  });

  app.get<{ Params: { id: string } }>("/api/instance/:id/logs/stream", { onRequest }, async (request, reply) => {
    const query = logsQuery.safeParse({ after: request.headers["last-event-id"], ...(request.query as object) });
    if (!query.success) throw new HttpError("REQUEST_INVALID", "after: the number of the last line, as its id says it");
    // Refuses an unknown instance.
    const { namespace } = callerOf(request);
    await parts.inNamespace(namespace).engine.getWorkflowInstanceStatus(request.params.id);
    const stream = open(request, reply);
    const stop = parts.logs.follow(
      qualify(namespace, request.params.id),
      (line) => {
        stream.write(eventText({ name: "line", id: String(line.number), data: JSON.stringify(line) }));
        if (stream.bufferedBytes > logBytesMax) stream.end();
      },
      query.data.after,
    );
    stream.onClosed(stop);
    return stream.open();
  });

  app.addHook("preClose", async () => {
    for (const stream of streams) stream.end();
  });
}

/** Resolves when every member sends the events of its workers. */
async function sendMembers(stream: EventStream, space: PushNamespace): Promise<void> {
  const { ready, stop } = followMembers(space, ({ type, ...data }) =>
    stream.write(eventText({ name: type, data: JSON.stringify(data) })),
  );
  stream.onClosed(stop);
  await ready;
}

function sendChanges(
  stream: EventStream,
  { topic, since, feed }: { topic: Topic; since: Cursor | undefined; feed: PushNamespace["feed"] },
): () => void {
  return feed.follow(topic, outletOf(stream, topic), since).stop;
}

function readQuery(request: FastifyRequest): { topic: Topic | "members"; since: Cursor | undefined } {
  const query = eventsQuery.safeParse(request.query);
  if (!query.success) {
    const [issue] = query.error.issues;
    throw new HttpError(
      "REQUEST_INVALID",
      `${issue?.path.join(".") ?? "the query"}: ${issue?.message ?? "does not fit"}`,
    );
  }
  const { members, ...others } = query.data;
  if (members === true) {
    if (Object.values(others).some((value) => value !== undefined))
      throw new HttpError("REQUEST_INVALID", membersAlone);
    return { topic: "members", since: undefined };
  }
  const topic = topicOf(others);
  if (typeof topic === "string") throw new HttpError("REQUEST_INVALID", topic);
  // A browser that reconnects sends the header, and repeats the original URL.
  const given = request.headers["last-event-id"] ?? query.data.cursor;
  const since = typeof given === "string" && given !== "" ? parseCursor(given) : undefined;
  if (since === undefined && given !== undefined && given !== "") throw new HttpError("REQUEST_INVALID", noCursor);
  return { topic, since };
}

function outletOf(stream: EventStream, topic: Topic): Outlet {
  const write = ({ entries }: ChangeBatch): string =>
    entries.map(({ cursor, text }) => eventText({ name: "change", id: textOf(cursor, topic), data: text })).join("");
  return {
    client: stream,
    get bufferedBytes() {
      return stream.bufferedBytes;
    },
    sendChanges: (batch) => stream.write(batch.as("events", write)),
    sendResync: ({ cursor, reason, isComplete }) => {
      const data = JSON.stringify({ reason, isComplete });
      stream.write(eventText({ name: "resync", id: textOf(cursor, topic), data }));
    },
    sendSkipped: ({ from, cursor, changes }) => {
      const data = JSON.stringify({ from: textOf(from, topic), changes });
      stream.write(eventText({ name: "skipped", id: textOf(cursor, topic), data }));
    },
    sendProgress: (progress) => stream.write(eventText({ name: "progress", data: JSON.stringify(progress) })),
    drop: ({ why, message }) => {
      stream.write(eventText({ name: "end", data: JSON.stringify({ why, message }) }));
      stream.end();
    },
  };
}
