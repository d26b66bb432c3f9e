import { Select } from "antd";
import type { Draft } from "./draft.ts";
import { changeSettings } from "./draft.ts";
import { prettyJson } from "../base/format.ts";
import { FormRow } from "../parts/form-row.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { JsonRow } from "./json-row.tsx";
import { NameInput } from "./name-input.tsx";
import { NumberRow } from "./number-row.tsx";
import type { KnownNames } from "./use-known-names.ts";
import type { DraftEditor } from "./use-draft.ts";

/** The settings of the workflow as a whole, while no node is selected. */
export function SettingsPanel({ editor, names }: { readonly editor: DraftEditor; readonly names: KnownNames }) {
  const text = useText(editorText);
  const { draft } = editor;
  const set = (field: keyof Draft, value: unknown): void => {
    editor.change((current) => changeSettings(current, { [field]: value }), `settings:${field}`);
  };
  return (
    <section className="card editor-panel" aria-label={text.settings}>
      <h2>{text.settings}</h2>
      <FormRow id="workflow-domain" label={text.domain}>
        <NameInput
          id="workflow-domain"
          value={draft.domain ?? ""}
          names={names.domains}
          onChange={(next) => set("domain", next === "" ? undefined : next)}
        />
      </FormRow>
      <NumberRow
        id="workflow-tasks"
        label={text.maxTasks}
        value={draft.maxConcurrentTasks}
        min={1}
        onChange={(value) => set("maxConcurrentTasks", value)}
      />
      <NumberRow
        id="workflow-timeout"
        label={text.workflowTimeout}
        value={draft.timeoutSeconds}
        min={0}
        onChange={(value) => set("timeoutSeconds", value)}
      />
      <FailurePolicy value={draft.failurePolicy} onChange={(value) => set("failurePolicy", value)} />
      <MaxInstancesRows draft={draft} onChange={(value) => set("maxInstances", value)} />
      <JsonRow
        id="workflow-context"
        label={text.context}
        rows={4}
        value={draft.context === undefined ? "" : prettyJson(draft.context)}
        onChange={(value) => set("context", value)}
      />
    </section>
  );
}

interface FailurePolicyProps {
  readonly value: Draft["failurePolicy"];
  readonly onChange: (value: Draft["failurePolicy"]) => void;
}

function FailurePolicy({ value, onChange }: FailurePolicyProps) {
  const text = useText(editorText);
  return (
    <FormRow id="workflow-failure" label={text.failurePolicy}>
      <Select
        id="workflow-failure"
        aria-label={text.failurePolicy}
        allowClear
        placeholder={text.unset}
        value={value ?? null}
        options={[
          { value: "finish-running", label: text.finishRunning },
          { value: "abort-running", label: text.abortRunning },
          { value: "continue", label: text.continueOthers },
        ]}
        onChange={(next: Draft["failurePolicy"] | null) => onChange(next ?? undefined)}
      />
    </FormRow>
  );
}

interface MaxInstancesProps {
  readonly draft: Draft;
  readonly onChange: (value: Draft["maxInstances"]) => void;
}

function MaxInstancesRows({ draft, onChange }: MaxInstancesProps) {
  const text = useText(editorText);
  const { maxInstances } = draft;
  return (
    <>
      <NumberRow
        id="workflow-instances"
        label={text.maxInstances}
        value={maxInstances?.max}
        min={1}
        onChange={(max) => onChange(max === undefined ? undefined : { policy: "queue", ...maxInstances, max })}
      />
      {maxInstances !== undefined && (
        <FormRow id="workflow-overflow" label={text.overflow}>
          <Select
            id="workflow-overflow"
            aria-label={text.overflow}
            value={maxInstances.policy}
            options={(["queue", "skip", "fail"] as const).map((policy) => ({ value: policy, label: text[policy] }))}
            onChange={(policy) => onChange({ ...maxInstances, policy })}
          />
        </FormRow>
      )}
    </>
  );
}
