import type { operationText } from "../text/operation-text.ts";
import type { Bilingual } from "../text/define-text.ts";
import { call } from "../api/client.ts";
import type { InstanceView, TaskView, Topology } from "../api/model.ts";
import { hasEnded } from "../base/status.ts";
import { instancePath, navigate } from "../base/place.ts";
import type { Operation } from "./operation-dialog.tsx";

type Words = typeof operationText extends Bilingual<infer T> ? Bilingual<T>["zh"] : never;

const noteField = (text: Words) => ({ name: "reason", label: text.note, kind: "text" }) as const;

/** Operations on the whole instance that its state allows, the most likely first. */
export function instanceOperations(view: InstanceView, text: Words): Operation[] {
  const { instanceId: id, status, kind } = view;
  const params = { id };
  const isOver = hasEnded(status);
  const isCode = kind === "code";
  const operations: (Operation | false)[] = [
    (status === "Failed" || status === "Terminated") && {
      key: "retry",
      label: text.retry,
      sentence: isCode ? text.retryCodeSays : text.retrySays(failedNames(view)),
      run: () => call("retryInstance", { params }),
    },
    (status === "Paused" || view.pausing || view.attention !== undefined) && {
      key: "resume",
      label: text.resume,
      sentence: text.resumeSays,
      run: () => call("resumeInstance", { params }),
    },
    !isOver &&
      status !== "Paused" &&
      !view.pausing && {
        key: "pause",
        label: text.pause,
        sentence: text.pauseSays,
        fields: [noteField(text)],
        run: (body) => call("pauseInstance", { params, body }),
      },
    !isOver && {
      key: "cancel",
      label: text.cancel,
      sentence: isCode ? text.cancelCodeSays : text.cancelDagSays,
      fields: [noteField(text)],
      run: (body) => call("cancelInstance", { params, body }),
    },
    !isOver && {
      key: "terminate",
      label: text.terminate,
      sentence: text.terminateSays,
      isDangerous: true,
      fields: [{ ...noteField(text), isNeeded: true }],
      run: (body) => call("terminateInstance", { params, body }),
    },
    ...(isCode ? codeOperations(id, isOver, text) : [dagContext(id, text)]),
    isOver && {
      key: "remove",
      label: text.remove,
      sentence: text.removeSays,
      isDangerous: true,
      run: async () => {
        await call("deleteInstance", { params });
        navigate("/instances");
      },
    },
  ];
  return operations.filter((operation) => operation !== false);
}

function failedNames({ tasks }: InstanceView): string {
  const failed = tasks.filter(({ status }) => /Failed|Stopped/.test(status)).map(({ name }) => name);
  const [first = "", ...rest] = failed;
  return rest.length === 0 ? first : `${failed.slice(0, 3).join(", ")}${rest.length > 2 ? " …" : ""}`;
}

function codeOperations(id: string, isOver: boolean, text: Words): (Operation | false)[] {
  const nameField = { name: "name", label: text.requestName, kind: "text", isNeeded: true } as const;
  const inputField = { name: "input", label: text.requestInput, kind: "json" } as const;
  return [
    !isOver && eventOperation(id, text),
    {
      key: "query",
      label: text.query,
      sentence: text.querySays,
      fields: [nameField, inputField],
      showsAnswer: true,
      run: ({ name, input }) => call("queryInstance", { params: { id, name: String(name) }, body: input }),
    },
    !isOver && {
      key: "update",
      label: text.update,
      sentence: text.updateSays,
      fields: [nameField, inputField],
      showsAnswer: true,
      run: ({ name, input }) => call("updateInstance", { params: { id, name: String(name) }, body: input }),
    },
    {
      key: "fork",
      label: text.fork,
      sentence: text.forkSays,
      fields: [
        { name: "task", label: text.forkStep, kind: "number" },
        { name: "input", label: text.requestInput, kind: "json" },
      ],
      run: async (body) => {
        const { instanceId } = await call("forkInstance", { params: { id }, body });
        navigate(instancePath(instanceId));
      },
    },
  ];
}

export function eventOperation(id: string, text: Words, name?: string): Operation {
  return {
    key: `event:${name ?? ""}`,
    label: text.event,
    sentence: text.eventSays,
    fields: [
      {
        name: "name",
        label: text.eventName,
        kind: "text",
        isNeeded: true,
        ...(name !== undefined && { initial: name }),
      },
      { name: "data", label: text.eventData, kind: "json" },
    ],
    run: (values) => call("raiseEvent", { params: { id, name: String(values["name"]) }, body: values["data"] ?? null }),
  };
}

function dagContext(id: string, text: Words): Operation {
  return {
    key: "context",
    label: text.contextChange,
    sentence: text.contextSays,
    fields: [{ name: "patch", label: text.contextField, kind: "json", isNeeded: true, initial: "{}" }],
    run: ({ patch }) => call("patchContext", { params: { id }, body: patch as Record<string, unknown> }),
  };
}

export interface TaskOperationParts {
  readonly view: InstanceView;
  readonly task: TaskView;
  readonly topology: Topology | undefined;
  readonly text: Words;
}

/** Operations on one task of a DAG that its state allows. */
export function taskOperations({ view, task, topology, text }: TaskOperationParts): Operation[] {
  if (view.kind === "code") return [];
  const id = view.instanceId;
  const params = { id, nodeId: task.name };
  const isFailed = /Failed/.test(task.status) || task.status === "Stopped";
  const isOver = hasEnded(view.status);
  const after = downstreamOf(task, view, topology);
  const operations: (Operation | false)[] = [
    isOver &&
      task.status !== "Canceled" && {
        key: `rerun:${task.name}`,
        label: text.rerun,
        sentence: text.rerunSays(task.name, after.size, view.tasks.length - after.size - 1),
        fields: task.kind === "job" ? [{ name: "params", label: text.rerunParams, kind: "json" }] : [],
        run: (values) => call("rerunInstance", { params: { id }, body: { task: task.name, ...values } }),
      },
    isOver &&
      isFailed && {
        key: `skip:${task.name}`,
        label: text.skip,
        sentence: text.skipSays(task.name),
        run: () => call("skipNode", { params }),
      },
    isOver &&
      isFailed && {
        key: `succeed:${task.name}`,
        label: text.succeed,
        sentence: text.succeedSays(task.name),
        fields: [{ name: "output", label: text.succeedOutput, kind: "json" }],
        run: (body) => call("succeedNode", { params, body }),
      },
    !isOver &&
      (task.status === "Running" || task.status === "Pending") && {
        key: `stop:${task.name}`,
        label: text.stop,
        sentence: text.stopSays(task.name),
        isDangerous: true,
        fields: [noteField(text)],
        run: (body) => call("stopNode", { params, body }),
      },
    !isOver &&
      task.status === "Pending" &&
      task.attempt === 0 &&
      task.kind === "job" && {
        key: `params:${task.name}`,
        label: text.params,
        sentence: text.paramsSays(task.name),
        fields: [{ name: "params", label: text.paramsField, kind: "json", isNeeded: true }],
        run: ({ params: given }) => call("changeNodeParams", { params, body: { params: given } }),
      },
  ];
  return operations.filter((operation) => operation !== false);
}

/** The tasks after one, along the edges. */
function downstreamOf(task: TaskView, view: InstanceView, topology: Topology | undefined): ReadonlySet<string> {
  const nameOf = new Map(view.tasks.map(({ nodeId, name }) => [nodeId, name]));
  const next = new Map<string, string[]>();
  for (const { from, to } of topology?.edges ?? []) {
    const [a = "", b = ""] = [nameOf.get(from), nameOf.get(to)];
    next.set(a, [...(next.get(a) ?? []), b]);
  }
  const found = new Set([task.name]);
  for (const each of found) for (const following of next.get(each) ?? []) found.add(following);
  found.delete(task.name);
  return found;
}
