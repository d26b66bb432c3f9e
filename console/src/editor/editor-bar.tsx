import { App, Button, Segmented, Tooltip } from "antd";
import { useRef } from "react";
import { changeQuery } from "../base/place.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import type { NodeKind } from "./draft.ts";
import type { DraftProblem } from "./draft-problems.ts";
import { readSpec } from "./read-spec.ts";
import { downloadSpec } from "./spec-file.ts";
import type { DraftEditor } from "./use-draft.ts";

export const editorViews = ["graph", "table", "json"] as const;
export type EditorView = (typeof editorViews)[number];

interface EditorBarProps {
  readonly name: string;
  readonly editor: DraftEditor;
  readonly view: EditorView;
  readonly problems: readonly DraftProblem[];
  readonly onAdd: (kind: NodeKind) => void;
  readonly onSelect: (id: string | undefined) => void;
}

/** The toolbar: operations on the draft as a whole. */
export function EditorBar({ name, editor, view, problems, onAdd, onSelect }: EditorBarProps) {
  const text = useText(editorText);
  const kinds = [
    ["job", text.job, text.addJob],
    ["decision", text.decision, text.addDecision],
    ["nested", text.nested, text.addNested],
  ] as const;
  return (
    <div className="editor-bar">
      <div className="editor-group">
        {kinds.map(([kind, label, title]) => (
          <Button
            key={kind}
            size="small"
            aria-label={title}
            icon={<Icon name="plus" size={12} />}
            onClick={() => onAdd(kind)}
          >
            {label}
          </Button>
        ))}
      </div>
      <div className="editor-group">
        <BarButton icon="undo" label={text.undo} isOff={!editor.canUndo} onClick={editor.undo} />
        <BarButton icon="redo" label={text.redo} isOff={!editor.canRedo} onClick={editor.redo} />
      </div>
      <FileButtons name={name} editor={editor} />
      <ProblemCount problems={problems} onSelect={onSelect} />
      <Segmented
        size="small"
        aria-label={text.view}
        value={view}
        options={editorViews.map((each) => ({ value: each, label: text[each] }))}
        onChange={(next) => changeQuery({ view: next === "graph" ? undefined : next }, { replace: true })}
      />
    </div>
  );
}

interface BarButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly isOff: boolean;
  readonly onClick: () => void;
}

function BarButton({ icon, label, isOff, onClick }: BarButtonProps) {
  return (
    <Tooltip title={label}>
      <Button
        size="small"
        aria-label={label}
        disabled={isOff}
        icon={<Icon name={icon} size={14} />}
        onClick={onClick}
      />
    </Tooltip>
  );
}

function FileButtons({ name, editor }: Pick<EditorBarProps, "name" | "editor">) {
  const text = useText(editorText);
  const { message } = App.useApp();
  const input = useRef<HTMLInputElement>(null);
  const read = async (file: File): Promise<void> => {
    const found = readSpec(await file.text());
    if ("draft" in found) editor.change(() => found.draft);
    else void message.error("notJson" in found ? text.notJson(found.notJson) : text.notSpec);
  };
  return (
    <div className="editor-group">
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        aria-label={text.importHint}
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          target.value = "";
          if (file !== undefined) void read(file);
        }}
      />
      <Tooltip title={text.importHint}>
        <Button size="small" onClick={() => input.current?.click()}>
          {text.import}
        </Button>
      </Tooltip>
      <Button size="small" onClick={() => downloadSpec(name, editor.draft)}>
        {text.export}
      </Button>
    </div>
  );
}

/** The number of problems; a press shows the first. */
function ProblemCount({ problems, onSelect }: Pick<EditorBarProps, "problems" | "onSelect">) {
  const text = useText(editorText);
  const faults = problems.filter(({ isWarning }) => !isWarning);
  const [first] = faults.length > 0 ? faults : problems;
  if (first === undefined) {
    return (
      <span className="status tone-success editor-problems" role="status">
        <Icon name="check" size={13} /> {text.noProblem}
      </span>
    );
  }
  const count = faults.length > 0 ? text.problems(faults.length) : text.warnings(problems.length);
  return (
    <button
      type="button"
      className={`text-button status editor-problems ${faults.length > 0 ? "tone-failed" : "tone-waiting"}`}
      title={first.text}
      onClick={() => onSelect(first.nodeId)}
    >
      <Icon name="warning" size={13} /> {count}
    </button>
  );
}
