import { useQuery } from "@tanstack/react-query";
import { Input, InputNumber, Modal } from "antd";
import { useState } from "react";
import { call, startWorkflow } from "../api/client.ts";
import type { WorkflowDetail } from "../api/model.ts";
import { instancePath, navigate } from "../base/place.ts";
import { inputOf } from "../instance/task-output.ts";
import { focusFirst } from "../parts/focus-first.ts";
import { Loading, Problem } from "../parts/page.tsx";
import { InputEditor, useInputForm } from "../schema/input-editor.tsx";
import { type JsonSchema, schemaOfContext } from "../schema/json-schema.ts";
import { useSubmit } from "../schema/use-submit.ts";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

interface StartDialogProps {
  readonly workflow: WorkflowDetail;
  /** The instance whose input is edited and run again; undefined offers that of the last run. */
  readonly from: string | undefined;
  readonly onClose: () => void;
}

async function readInput(id: string): Promise<{ readonly value: unknown } | null> {
  const { items } = await call("getHistory", { params: { id }, query: { limit: 1 } });
  const value = inputOf(items);
  return value === undefined ? null : { value };
}

async function readLastInput(workflow: string): Promise<{ readonly value: unknown } | null> {
  const [run] = (await call("listInstances", { query: { workflow, limit: 1 } })).items;
  return run === undefined ? null : await readInput(run.instanceId);
}

/** Starts a workflow with an input that its schema describes. */
export function StartDialog(props: StartDialogProps) {
  const { workflow, from } = props;
  const example = useQuery({
    queryKey: ["example-input", workflow.name, from],
    queryFn: () => (from === undefined ? readLastInput(workflow.name) : readInput(from)),
    staleTime: Infinity,
  });
  if (example.isPending && from !== undefined) return <Loading />;
  return <StartForm {...props} example={example.data ?? undefined} />;
}

function schemaOf({ inputSchema, dagSpec }: WorkflowDetail): JsonSchema | undefined {
  if (inputSchema !== null) return inputSchema;
  return schemaOfContext(dagSpec?.["context"] as Record<string, unknown> | undefined);
}

interface StartFormProps extends StartDialogProps {
  readonly example: { readonly value: unknown } | undefined;
}

function StartForm({ workflow, from, example, onClose }: StartFormProps) {
  const text = useText(workflowsText);
  const form = useInputForm(schemaOf(workflow), from === undefined ? undefined : example);
  const [instanceId, setInstanceId] = useState("");
  const [tasksMax, setTasksMax] = useState<number | null>(null);
  const { name, version } = workflow;
  const { submit, error, isBusy } = useSubmit(form, async (value) => {
    const options = {
      ...(instanceId.trim() !== "" && { instanceId: instanceId.trim() }),
      ...(tasksMax !== null && { maxConcurrentTasks: tasksMax }),
    };
    navigate(instancePath(await startWorkflow(name, value, options)), { replace: true });
  });
  return (
    <Modal
      open
      title={from === undefined ? text.startTitle(name) : text.startAgainTitle(name)}
      okText={text.start}
      okButtonProps={{ loading: isBusy }}
      onOk={submit}
      onCancel={onClose}
      afterOpenChange={focusFirst}
      width={560}
    >
      <p className="operation-sentence">{text.startSays(name, version.slice(0, 12))}</p>
      <form
        className="start-form"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <InputEditor
          form={form}
          example={from === undefined && example !== undefined ? { label: text.lastInput, ...example } : undefined}
        />
        <StartOptions
          instanceId={instanceId}
          onInstanceId={setInstanceId}
          {...(workflow.kind === "dag" && { tasksMax, onTasksMax: setTasksMax })}
        />
        {/* Enter in a field starts it, as in every form. */}
        <button type="submit" hidden aria-hidden="true" tabIndex={-1} />
      </form>
      {error !== undefined && <Problem error={error} />}
    </Modal>
  );
}

interface StartOptionsProps {
  readonly instanceId: string;
  readonly onInstanceId: (id: string) => void;
  readonly tasksMax?: number | null;
  readonly onTasksMax?: (max: number | null) => void;
}

function StartOptions({ instanceId, onInstanceId, tasksMax, onTasksMax }: StartOptionsProps) {
  const text = useText(workflowsText);
  return (
    <details className="start-more">
      <summary>{text.startOptions}</summary>
      <label htmlFor="start-id">{text.instanceId}</label>
      <Input
        id="start-id"
        spellCheck={false}
        value={instanceId}
        onChange={({ target }) => onInstanceId(target.value)}
      />
      {onTasksMax !== undefined && (
        <>
          <label htmlFor="start-tasks">{text.maxTasks}</label>
          <InputNumber id="start-tasks" min={1} max={1_000_000} value={tasksMax ?? null} onChange={onTasksMax} />
        </>
      )}
    </details>
  );
}
