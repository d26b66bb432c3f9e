import { empty } from "../../durabletask/client-messages.ts";
import { dialectOf } from "../../durabletask/dialect.ts";
import { abandonRequest, activityResponse, getWorkItemsRequest } from "../../durabletask/worker-messages.ts";
import { activityKey } from "./activity-items.ts";
import { type StreamMethod, unary, type UnaryMethod } from "./grpc-method.ts";
import { WorkItemStream } from "./work-item-stream.ts";

/** Results are not audited one by one, as they are not on the streams of Heddle's workers. */
const work = { kind: "read", role: "worker" } as const;

/** The methods of `TaskHubSidecarService` for workers, by their names there. */
export const workerMethods: Readonly<Record<string, UnaryMethod>> = {
  CompleteActivityTask: unary({
    ...work,
    request: activityResponse,
    response: empty,
    // An answer that nobody waits for is dropped: another worker has the activity, or it is not wanted any more.
    run: (response, { hub }) => {
      const { completionToken: token } = response;
      hub.items.activities.take({ token, key: activityKey(response) })?.onAnswer(response);
      return Promise.resolve({});
    },
  }),
  AbandonTaskActivityWorkItem: unary({
    ...work,
    request: abandonRequest,
    response: empty,
    run: ({ completionToken: token }, { hub }) => {
      hub.items.activities.take({ token })?.onAbandoned();
      return Promise.resolve({});
    },
  }),
};

export const streamMethods: Readonly<Record<string, StreamMethod>> = {
  GetWorkItems: {
    role: "worker",
    open: (bytes, { hub, caller, clock, logger, header, send, end }) => {
      const request = getWorkItemsRequest.decode(bytes);
      const stream = new WorkItemStream({
        clock,
        logger,
        items: hub.items,
        dialect: dialectOf(header, request),
        request,
        accept: (link) => hub.acceptWorker(link, caller.name),
        send,
        end,
      });
      stream.start();
      return stream;
    },
  },
};
