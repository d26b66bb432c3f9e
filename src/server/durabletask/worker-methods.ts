import { empty } from "../../durabletask/client-messages.ts";
import { dialectOf } from "../../durabletask/dialect.ts";
import {
  abandonRequest,
  activityResponse,
  getWorkItemsRequest,
  orchestratorResponse,
} from "../../durabletask/worker-messages.ts";
import { activityKey } from "./activity-items.ts";
import { type StreamMethod, unary, type UnaryMethod } from "./grpc-method.ts";
import { WorkItemStream } from "./work-item-stream.ts";

/** Results are not audited one by one, as they are not on the streams of Heddle's workers. */
const work = { kind: "read", role: "worker" } as const;

/** Answers about a work item that nobody waits for any more are dropped: it was given to another worker, or is not wanted. */
const completeOrchestrator = unary({
  ...work,
  request: orchestratorResponse,
  response: empty,
  run: (response, { hub, caller: { name: owner } }) => {
    const { completionToken: token, instanceId: key } = response;
    hub.items.orchestrators.take({ token, key, owner })?.onAnswer(response);
    return Promise.resolve({});
  },
});

/** The methods of `TaskHubSidecarService` for workers, by their names there. */
export const workerMethods: Readonly<Record<string, UnaryMethod>> = {
  CompleteActivityTask: unary({
    ...work,
    request: activityResponse,
    response: empty,
    run: (response, { hub, caller: { name: owner } }) => {
      const { completionToken: token } = response;
      hub.items.activities.take({ token, key: activityKey(response), owner })?.onAnswer(response);
      return Promise.resolve({});
    },
  }),
  CompleteOrchestratorTask: completeOrchestrator,
  /** Dapr's name. */
  CompleteWorkflowTask: completeOrchestrator,
  AbandonTaskActivityWorkItem: unary({
    ...work,
    request: abandonRequest,
    response: empty,
    run: ({ completionToken: token }, { hub, caller: { name: owner } }) => {
      hub.items.activities.take({ token, owner })?.onAbandoned();
      return Promise.resolve({});
    },
  }),
  AbandonTaskOrchestratorWorkItem: unary({
    ...work,
    request: abandonRequest,
    response: empty,
    run: ({ completionToken: token }, { hub, caller: { name: owner } }) => {
      hub.items.orchestrators.take({ token, owner })?.onAbandoned();
      return Promise.resolve({});
    },
  }),
};

export const streamMethods: Readonly<Record<string, StreamMethod>> = {
  GetWorkItems: {
    role: "worker",
    isChange: true,
    open: (bytes, { hub, caller, clock, logger, header, send, end }) => {
      const request = getWorkItemsRequest.decode(bytes);
      const stream = new WorkItemStream({
        clock,
        logger,
        hub,
        caller,
        dialect: dialectOf(header, request),
        request,
        send,
        end,
      });
      stream.start();
      return stream;
    },
  },
};
