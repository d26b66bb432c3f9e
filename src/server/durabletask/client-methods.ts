import { EngineError } from "../../base/error.ts";
import {
  createInstanceRequest,
  createInstanceResponse,
  empty,
  getHistoryRequest,
  getHistoryResponse,
  getInstanceRequest,
  getInstanceResponse,
  historyChunk,
  listAllIdsRequest,
  listAllIdsResponse,
  listInstanceIdsRequest,
  listInstanceIdsResponse,
  pauseRequest,
  purgeInstancesRequest,
  purgeInstancesResponse,
  queryInstancesRequest,
  queryInstancesResponse,
  raiseEventRequest,
  rerunRequest,
  rerunResponse,
  restartInstanceRequest,
  restartInstanceResponse,
  rewindInstanceRequest,
  streamHistoryRequest,
  terminateRequest,
} from "../../durabletask/client-messages.ts";
import { HttpError } from "../request/http-error.ts";
import { type HubCall, type StreamMethod, unary, type UnaryMethod } from "./grpc-method.ts";
import { chunksOf } from "./instance-history.ts";

const change = { kind: "change", role: "operator" } as const;
const read = { kind: "read", role: "viewer" } as const;
const wait = { kind: "wait", role: "viewer", request: getInstanceRequest, response: getInstanceResponse } as const;

/** The methods of `TaskHubSidecarService` for clients, by their names there. */
export const clientMethods: Readonly<Record<string, UnaryMethod>> = {
  StartInstance: unary({
    ...change,
    request: createInstanceRequest,
    response: createInstanceResponse,
    run: async (request, { hub }) => ({ instanceId: await hub.start(request) }),
  }),
  GetInstance: unary({
    ...read,
    request: getInstanceRequest,
    response: getInstanceResponse,
    run: async ({ instanceId, getInputsAndOutputs }, { hub }) => {
      const state = await hub.get(instanceId, getInputsAndOutputs);
      return { exists: state !== undefined, state };
    },
  }),
  WaitForInstanceStart: unary({ ...wait, run: (request, call) => waitFor(request, call, "started") }),
  WaitForInstanceCompletion: unary({ ...wait, run: (request, call) => waitFor(request, call, "ended") }),
  RaiseEvent: unary({
    ...change,
    request: raiseEventRequest,
    response: empty,
    run: async ({ instanceId, name, input }, { hub }) => {
      await hub.raiseEvent(instanceId, name, input);
      return {};
    },
  }),
  TerminateInstance: unary({
    ...change,
    request: terminateRequest,
    response: empty,
    run: async ({ instanceId, output }, { hub, caller }) => {
      await hub.terminate(instanceId, caller.name, output);
      return {};
    },
  }),
  SuspendInstance: unary({
    ...change,
    request: pauseRequest,
    response: empty,
    run: async ({ instanceId, reason }, { hub, caller }) => {
      await hub.suspend(instanceId, caller.name, reason);
      return {};
    },
  }),
  ResumeInstance: unary({
    ...change,
    request: pauseRequest,
    response: empty,
    run: async ({ instanceId }, { hub }) => {
      await hub.resume(instanceId);
      return {};
    },
  }),
  PurgeInstances: unary({
    ...change,
    request: purgeInstancesRequest,
    response: purgeInstancesResponse,
    run: async (request, { hub }) => ({ deletedCount: await hub.purge(request), isComplete: true }),
  }),
  QueryInstances: unary({
    ...read,
    request: queryInstancesRequest,
    response: queryInstancesResponse,
    run: async ({ query }, { hub }) => {
      if (query === undefined) throw new HttpError("REQUEST_INVALID", "the request has no query");
      return await hub.lists.query(query);
    },
  }),
  ListInstanceIds: unary({
    ...read,
    request: listInstanceIdsRequest,
    response: listInstanceIdsResponse,
    run: async (request, { hub }) => {
      const { instanceIds, next } = await hub.lists.ended(request);
      return { instanceIds, lastKey: next };
    },
  }),
  ListInstanceIDs: unary({
    ...read,
    request: listAllIdsRequest,
    response: listAllIdsResponse,
    run: async ({ limit, continuationToken }, { hub }) => {
      const { instanceIds, next } = await hub.lists.all(limit, continuationToken);
      return { instanceIds, continuationToken: next };
    },
  }),
  GetInstanceHistory: unary({
    ...read,
    request: getHistoryRequest,
    response: getHistoryResponse,
    run: async ({ instanceId }, { hub }) => ({ events: await hub.history(instanceId) }),
  }),
  RestartInstance: unary({
    ...change,
    request: restartInstanceRequest,
    response: restartInstanceResponse,
    run: async ({ instanceId, hasNewId }, { hub }) => ({
      instanceId: await hub.secondRuns.restart(instanceId, hasNewId),
    }),
  }),
  RewindInstance: unary({
    ...change,
    request: rewindInstanceRequest,
    response: empty,
    run: async ({ instanceId }, { hub }) => {
      await hub.secondRuns.rewind(instanceId);
      return {};
    },
  }),
  RerunWorkflowFromEvent: unary({
    ...change,
    request: rerunRequest,
    response: rerunResponse,
    run: async (request, { hub }) => ({ newId: await hub.secondRuns.rerun(request) }),
  }),
};

/** Methods for clients whose answers are streams. */
export const clientStreams: Readonly<Record<string, StreamMethod>> = {
  StreamInstanceHistory: {
    role: "viewer",
    isChange: false,
    open: (bytes, { hub, send, end, fail }) => {
      const { instanceId } = streamHistoryRequest.decode(bytes);
      hub.history(instanceId).then((events) => {
        for (const chunk of chunksOf(events)) send(historyChunk.encode({ events: chunk }));
        end();
      }, fail);
      return { close: () => undefined };
    },
  },
};

async function waitFor(
  { instanceId, getInputsAndOutputs: withPayloads }: { instanceId: string; getInputsAndOutputs: boolean },
  { hub, signal }: HubCall,
  until: "started" | "ended",
): Promise<{ exists: boolean; state: Awaited<ReturnType<HubCall["hub"]["waitFor"]>> }> {
  const state = await hub.waitFor(instanceId, { until, withPayloads, signal });
  if (signal.aborted && state === undefined)
    throw new EngineError("ENGINE_STATE", "the wait ends with the server; wait again");
  return { exists: state !== undefined, state };
}
