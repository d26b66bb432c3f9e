import { Button, Input, Select, Switch } from "antd";
import type { NodeSpec } from "../../../src/kernel/node-spec.ts";
import { navigate, workflowPath } from "../base/place.ts";
import { prettyJson } from "../base/format.ts";
import { nameOfNode } from "../graph/definition-model.ts";
import { FormRow } from "../parts/form-row.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { changeKind, changeNode, kindOfNode, type NodeKind, removeNode } from "./draft.ts";
import type { DraftProblem } from "./draft-problems.ts";
import { EdgeList } from "./edge-list.tsx";
import { ItemsRows } from "./items-rows.tsx";
import { JsonRow } from "./json-row.tsx";
import { NameInput } from "./name-input.tsx";
import { NumberRow } from "./number-row.tsx";
import { ParamsRow } from "./params-row.tsx";
import type { KnownNames } from "./use-known-names.ts";
import type { DraftEditor } from "./use-draft.ts";

export interface NodePanelProps {
  readonly editor: DraftEditor;
  readonly node: NodeSpec;
  readonly problems: readonly DraftProblem[];
  readonly names: KnownNames;
  readonly onSelect: (id: string | undefined) => void;
}

const kinds: readonly NodeKind[] = ["job", "decision", "nested"];

/** The fields of the selected node. */
export function NodePanel({ editor, node, problems, names, onSelect }: NodePanelProps) {
  const text = useText(editorText);
  const id = node.nodeId;
  const set = (field: string, value: unknown): void => {
    editor.change((draft) => changeNode(draft, id, { [field]: value }), `node:${id}:${field}`);
  };
  return (
    <section className="card editor-panel" aria-label={nameOfNode(node)}>
      {problems.map((problem) => (
        <p key={problem.text} className={`problem ${problem.isWarning ? "tone-waiting" : "tone-failed"}`} role="alert">
          {problem.text}
        </p>
      ))}
      <FormRow id="node-name" label={text.name}>
        <Input
          id="node-name"
          spellCheck={false}
          value={node.nodeName ?? ""}
          onChange={({ target }) => set("nodeName", target.value === "" ? undefined : target.value)}
        />
      </FormRow>
      <FormRow id="node-kind" label={text.kind}>
        <Select
          id="node-kind"
          aria-label={text.kind}
          value={kindOfNode(node)}
          options={kinds.map((kind) => ({ value: kind, label: text[kind] }))}
          onChange={(kind: NodeKind) => editor.change((draft) => changeKind(draft, id, kind))}
        />
      </FormRow>
      <WorkRows node={node} names={names} set={set} />
      {kindOfNode(node) === "job" && (
        <ItemsRows
          node={node}
          names={names}
          onChange={(fields) => editor.change((draft) => changeNode(draft, id, fields), `node:${id}:items`)}
        />
      )}
      <EdgeList editor={editor} node={node} onSelect={onSelect} />
      <MoreRows editor={editor} node={node} names={names} set={set} />
      <Button
        danger
        onClick={() => {
          editor.change((draft) => removeNode(draft, id));
          onSelect(undefined);
        }}
      >
        {text.removeNode(nameOfNode(node))}
      </Button>
    </section>
  );
}

interface RowsProps {
  readonly node: NodeSpec;
  readonly names: KnownNames;
  readonly set: (field: string, value: unknown) => void;
}

/** The rows of one kind of node: job and parameters, expression, or nested workflow. */
function WorkRows({ node, names, set }: RowsProps) {
  const text = useText(editorText);
  const kind = kindOfNode(node);
  if (kind === "decision") {
    return (
      <FormRow id="node-expression" label={text.expression} hint={text.expressionHint}>
        <Input.TextArea
          id="node-expression"
          rows={3}
          className="mono"
          spellCheck={false}
          value={node.nodeParams ?? ""}
          onChange={({ target }) => set("nodeParams", target.value)}
        />
      </FormRow>
    );
  }
  if (kind === "nested") {
    const name = node.workflowName ?? "";
    return (
      <FormRow id="node-workflow" label={text.workflowName}>
        <NameInput
          id="node-workflow"
          value={name}
          names={names.workflows}
          onChange={(next) => set("workflowName", next)}
        />
        {names.workflows.includes(name) && (
          <Button size="small" onClick={() => navigate(workflowPath(name, "edit"))}>
            {text.openNested}
          </Button>
        )}
      </FormRow>
    );
  }
  return (
    <>
      <FormRow id="node-job" label={text.jobName}>
        <NameInput
          id="node-job"
          value={node.jobName ?? ""}
          names={[...names.jobs.keys()]}
          onChange={(next) => set("jobName", next === "" ? undefined : next)}
        />
      </FormRow>
      <ParamsRow
        key={`${node.nodeId} ${node.jobName}`}
        value={node.nodeParams ?? ""}
        schema={names.jobs.get(node.jobName ?? "")}
        onChange={(next) => set("nodeParams", next === "" ? undefined : next)}
      />
    </>
  );
}

function MoreRows({ editor, node, names, set }: RowsProps & Pick<NodePanelProps, "editor">) {
  const text = useText(editorText);
  const id = node.nodeId;
  return (
    <details className="editor-more">
      <summary>{text.more}</summary>
      <NumberRow
        id="node-timeout"
        label={text.timeout}
        value={node.timeoutSeconds}
        min={0}
        onChange={(value) => set("timeoutSeconds", value)}
      />
      <NumberRow
        id="node-retries"
        label={text.retries}
        value={node.retryCount}
        min={0}
        onChange={(value) => set("retryCount", value)}
      />
      <FormRow id="node-domain" label={text.domain}>
        <NameInput
          id="node-domain"
          value={node.domain ?? ""}
          names={names.domains}
          onChange={(next) => set("domain", next === "" ? undefined : next)}
        />
      </FormRow>
      <FormRow id="node-skippable" label={text.skippable}>
        <Switch
          id="node-skippable"
          aria-label={text.skippable}
          checked={node.skipWhenFailed === true}
          onChange={(isOn) => set("skipWhenFailed", isOn ? true : undefined)}
        />
      </FormRow>
      <FormRow id="node-enabled" label={text.enabled}>
        <Switch
          id="node-enabled"
          aria-label={text.enabled}
          checked={node.enable !== false}
          onChange={(isOn) => set("enable", isOn ? undefined : false)}
        />
      </FormRow>
      <JsonRow
        key={String(id)}
        id="node-json"
        label={text.wholeNode}
        value={prettyJson(node)}
        rows={8}
        onChange={(next) => {
          const { nodeId: _own, ...fields } = next as NodeSpec;
          const gone = Object.fromEntries(Object.keys(node).map((field) => [field, undefined]));
          const change = { ...gone, ...fields, nodeId: id };
          editor.change((draft) => changeNode(draft, id, change), `node:${id}:json`);
        }}
      />
    </details>
  );
}
