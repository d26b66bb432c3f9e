import { App, Button, Input, Modal } from "antd";
import { useState } from "react";
import { diffSpecs } from "../../../src/catalogue/spec-diff.ts";
import { HeddleClientError } from "../../../src/client/client-error.ts";
import { call } from "../api/client.ts";
import { DiffList } from "../parts/diff-list.tsx";
import { FormRow } from "../parts/form-row.tsx";
import { Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import type { Draft } from "./draft.ts";
import { sentSpec } from "./spec-file.ts";
import type { DraftBase, DraftEditor } from "./use-draft.ts";

/** The mode of a save: a new version, a new workflow, or, for a workflow that a program registers, a copy under another name. */
export type SaveKind = "update" | "create" | "copy";

interface SaveDialogProps {
  readonly name: string;
  readonly kind: SaveKind;
  readonly editor: DraftEditor;
  readonly onSaved: (name: string) => void;
  readonly onClose: () => void;
}

async function save(kind: SaveKind, name: string, draft: Draft, ifVersion: string | undefined): Promise<void> {
  const dagSpec = sentSpec(draft);
  if (kind !== "update") await call("createWorkflow", { body: { name, dagSpec } });
  else {
    const body = { dagSpec, ...(ifVersion !== undefined && { ifVersion }) };
    await call("updateWorkflow", { params: { id: name }, body });
  }
}

/** Shows what a save changes, and saves. */
export function SaveDialog({ name, kind, editor, onSaved, onClose }: SaveDialogProps) {
  const text = useText(editorText);
  const { message } = App.useApp();
  const { base, draft } = editor;
  const [target, setTarget] = useState(kind === "copy" ? `${name}-copy` : name);
  const [theirs, setTheirs] = useState<DraftBase>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const send = (ifVersion: string | undefined): void => {
    setBusy(true);
    setError(undefined);
    save(kind, target, draft, ifVersion)
      .then(
        () => {
          void message.success(text.saved(target));
          onSaved(target);
        },
        async (problem: unknown) => {
          const isConflict = problem instanceof HeddleClientError && problem.code === "VERSION_CHANGED";
          if (!isConflict) return setError(problem);
          const { version, dagSpec } = await call("getWorkflow", { params: { id: name } });
          setTheirs({ version, spec: dagSpec as unknown as Draft });
        },
      )
      .catch(setError)
      .finally(() => setBusy(false));
  };
  return (
    <Modal
      open
      title={text.saveTitle(target)}
      okText={text.save}
      okButtonProps={{ loading: isBusy, disabled: theirs !== undefined }}
      onOk={() => send(base.version)}
      onCancel={onClose}
      width={640}
    >
      <SaveSentence name={name} kind={kind} version={base.version} />
      {kind === "copy" && (
        <FormRow id="save-name" label={text.name}>
          <Input id="save-name" spellCheck={false} value={target} onChange={(event) => setTarget(event.target.value)} />
        </FormRow>
      )}
      <h3>{text.changes}</h3>
      <div className="editor-diff">
        <DiffList changes={diffSpecs(base.spec, draft)} />
      </div>
      {theirs !== undefined && (
        <Conflict
          base={base}
          theirs={theirs}
          onSaveOver={() => {
            editor.rebase(theirs);
            setTheirs(undefined);
            send(theirs.version);
          }}
          onTakeTheirs={() => {
            editor.restart(theirs);
            onClose();
          }}
        />
      )}
      {error !== undefined && <Problem error={error} />}
    </Modal>
  );
}

interface SentenceProps {
  readonly name: string;
  readonly kind: SaveKind;
  readonly version: string | undefined;
}

function SaveSentence({ name, kind, version }: SentenceProps) {
  const text = useText(editorText);
  const sentences = {
    update: text.saveSays(version?.slice(0, 12) ?? ""),
    create: text.createSays,
    copy: text.copySays(name),
  };
  return <p className="operation-sentence">{sentences[kind]}</p>;
}

interface ConflictProps {
  readonly base: DraftBase;
  readonly theirs: DraftBase;
  readonly onSaveOver: () => void;
  readonly onTakeTheirs: () => void;
}

/** Another save came first: what it changed, and the choice. */
function Conflict({ base, theirs, onSaveOver, onTakeTheirs }: ConflictProps) {
  const text = useText(editorText);
  return (
    <div className="editor-conflict" role="alert">
      <p className="problem tone-waiting">{text.conflict(theirs.version?.slice(0, 12) ?? "")}</p>
      <div className="editor-diff">
        <DiffList changes={diffSpecs(base.spec, theirs.spec)} />
      </div>
      <div className="panel-actions">
        <Button danger onClick={onSaveOver}>
          {text.saveOver}
        </Button>
        <Button onClick={onTakeTheirs}>{text.takeTheirs}</Button>
      </div>
    </div>
  );
}
