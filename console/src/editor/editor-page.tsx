import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Popconfirm } from "antd";
import { useEffect, useState } from "react";
import { call } from "../api/client.ts";
import type { WorkflowDetail } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { changeQuery, navigate, usePlace, workflowPath } from "../base/place.ts";
import { Card, EmptyState, Loaded, PageHead } from "../parts/page.tsx";
import { useKeys } from "../shell/keys.ts";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { addNode, type Draft, findNode, kindOfNode, type NodeKind, removeNode } from "./draft.ts";
import { EditorBar, editorViews } from "./editor-bar.tsx";
import { EditorGraph } from "./editor-graph.tsx";
import { JsonEditor } from "./json-editor.tsx";
import { NodePanel } from "./node-panel.tsx";
import { NodeTable } from "./node-table.tsx";
import { SaveDialog, type SaveKind } from "./save-dialog.tsx";
import { SettingsPanel } from "./settings-panel.tsx";
import { useDraft, useProblems } from "./use-draft.ts";
import { useKnownNames } from "./use-known-names.ts";
import "../styles/editor.css";

/** The editor of a DAG. `?new` begins one that is not saved yet. */
export function EditorPage({ name }: { readonly name: string }) {
  const { query } = usePlace();
  const isNew = query.has("new");
  const mayOperate = useMay("operator");
  const workflow = useQuery({
    queryKey: ["workflow-to-edit", name, isNew],
    queryFn: async () => (isNew ? null : await call("getWorkflow", { params: { id: name } })),
    // The draft is not refreshed while it is edited: a version that somebody else saved meanwhile is noticed at the next save.
    staleTime: Infinity,
    gcTime: 0,
  });
  useEffect(() => {
    if (!mayOperate) navigate(workflowPath(name), { replace: true });
  }, [mayOperate, name]);
  if (!mayOperate) return null;
  return <Loaded result={workflow}>{(detail) => <SavedOrNew key={name} name={name} workflow={detail} />}</Loaded>;
}

interface SavedOrNewProps {
  readonly name: string;
  readonly workflow: WorkflowDetail | null;
}

function SavedOrNew({ name, workflow }: SavedOrNewProps) {
  const text = useText(editorText);
  if (workflow === null) return <Editor name={name} kind="create" />;
  if (workflow.dagSpec === null) {
    return (
      <Card>
        <EmptyState title={text.codeOnly} icon="jobs" />
      </Card>
    );
  }
  const saved = { version: workflow.version, spec: workflow.dagSpec as unknown as Draft };
  return <Editor name={name} kind={workflow.origin === "catalogue" ? "update" : "copy"} saved={saved} />;
}

interface EditorProps {
  readonly name: string;
  readonly kind: SaveKind;
  readonly saved?: { readonly version: string; readonly spec: Draft };
}

function select(id: string | undefined): void {
  changeQuery({ task: id }, { replace: true });
}

function Editor({ name, kind, saved }: EditorProps) {
  const client = useQueryClient();
  const { query } = usePlace();
  const editor = useDraft(name, saved);
  const { draft } = editor;
  const problems = useProblems(name, draft);
  const names = useKnownNames();
  const [isSaving, setSaving] = useState(false);
  const view = editorViews.find((each) => each === query.get("view")) ?? "graph";
  const selected = query.get("task") ?? undefined;
  const node = findNode(draft, selected);
  const add = (what: NodeKind): void => {
    const added = addNode(draft, what, node?.nodeId);
    editor.change(() => added.draft);
    select(added.id);
  };
  const open = (id: string): void => {
    const found = findNode(draft, id);
    const nested = found !== undefined && kindOfNode(found) === "nested" ? found.workflowName : undefined;
    if (nested !== undefined && names.workflows.includes(nested)) navigate(workflowPath(nested, "edit"));
    else document.querySelector<HTMLElement>("#node-name")?.focus();
  };
  const canSave = editor.isChanged && draft.nodes.length > 0 && problems.every(({ isWarning }) => isWarning);
  useEditorKeys({ editor, selected, add, onSave: () => canSave && setSaving(true) });
  const shared = { editor, problems, selected, onSelect: select };
  return (
    <div className="editor">
      <EditorHead name={name} kind={kind} editor={editor} canSave={canSave} onSave={() => setSaving(true)} />
      <EditorBar name={name} editor={editor} view={view} problems={problems} onAdd={add} onSelect={select} />
      <div className="editor-columns">
        {view === "graph" && <EditorGraph {...shared} onOpen={open} />}
        {view === "table" && <NodeTable {...shared} />}
        {view === "json" && <JsonEditor editor={editor} />}
        <aside>
          <WholeProblems problems={problems.filter(({ nodeId }) => nodeId === undefined)} />
          {node === undefined ? (
            <SettingsPanel editor={editor} names={names} />
          ) : (
            <NodePanel
              key={selected}
              editor={editor}
              node={node}
              names={names}
              problems={problems.filter(({ nodeId }) => nodeId === selected)}
              onSelect={select}
            />
          )}
        </aside>
      </div>
      {isSaving && (
        <SaveDialog
          name={name}
          kind={kind}
          editor={editor}
          onClose={() => setSaving(false)}
          onSaved={(target) => {
            editor.forget();
            void client.invalidateQueries();
            navigate(workflowPath(target));
          }}
        />
      )}
    </div>
  );
}

function WholeProblems({ problems }: { readonly problems: readonly { readonly text: string }[] }) {
  return problems.map(({ text }) => (
    <p key={text} className="problem tone-failed" role="alert">
      {text}
    </p>
  ));
}

interface KeyParts {
  readonly editor: ReturnType<typeof useDraft>;
  readonly selected: string | undefined;
  readonly add: (kind: NodeKind) => void;
  readonly onSave: () => void;
}

function useEditorKeys({ editor, selected, add, onSave }: KeyParts): void {
  const remove = (): void => {
    const node = findNode(editor.draft, selected);
    if (node === undefined) return;
    editor.change((draft) => removeNode(draft, node.nodeId));
    select(undefined);
  };
  useKeys({
    a: () => add("job"),
    Delete: remove,
    Backspace: remove,
    "ctrl+z": (event) => (event.shiftKey ? editor.redo() : editor.undo()),
    "ctrl+y": editor.redo,
    "ctrl+s": onSave,
  });
}

interface EditorHeadProps {
  readonly name: string;
  readonly kind: SaveKind;
  readonly editor: ReturnType<typeof useDraft>;
  readonly canSave: boolean;
  readonly onSave: () => void;
}

function EditorHead({ name, kind, editor, canSave, onSave }: EditorHeadProps) {
  const text = useText(editorText);
  const { base, draft, isChanged } = editor;
  const origin = base.version === undefined ? text.isNew : text.fromVersion(base.version.slice(0, 12));
  return (
    <PageHead
      title={text.title(name)}
      detail={
        <>
          <span className="quiet">{isChanged ? text.draft : text.unchanged}</span>
          <span className="quiet">{kind === "create" ? text.isNew : origin}</span>
          <span className="quiet">{text.taskCount(draft.nodes.length)}</span>
        </>
      }
      actions={
        <>
          {isChanged && (
            <Popconfirm title={text.discardSays} okText={text.discard} onConfirm={() => editor.restart(base)}>
              <Button>{text.discard}</Button>
            </Popconfirm>
          )}
          <Button type="primary" disabled={!canSave} onClick={onSave}>
            {text.review}
          </Button>
        </>
      }
    />
  );
}
