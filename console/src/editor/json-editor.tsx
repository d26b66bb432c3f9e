import { Input } from "antd";
import { useState } from "react";
import { prettyJson } from "../base/format.ts";
import { Card } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { readSpec } from "./read-spec.ts";
import type { DraftEditor } from "./use-draft.ts";

/** The definition as its file. Text that is no definition yet is kept here, and not taken into the draft. */
export function JsonEditor({ editor }: { readonly editor: DraftEditor }) {
  const text = useText(editorText);
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: unknown }>();
  const isOwn = typed !== undefined && typed.of === editor.draft;
  const shown = isOwn ? typed.text : prettyJson(editor.draft);
  const read = isOwn ? readSpec(typed.text) : { draft: editor.draft };
  const type = (next: string): void => {
    const result = readSpec(next);
    if (!("draft" in result)) return setTyped({ text: next, of: editor.draft });
    setTyped({ text: next, of: result.draft });
    editor.change(() => result.draft, "json");
  };
  return (
    <Card>
      <Input.TextArea
        rows={28}
        className="mono"
        spellCheck={false}
        aria-label={text.json}
        value={shown}
        onChange={({ target }) => type(target.value)}
      />
      {"notJson" in read && (
        <p className="schema-problem" role="alert">
          {text.notJson(read.notJson)}
        </p>
      )}
      {"problem" in read && (
        <p className="schema-problem" role="alert">
          {text.notSpec}
        </p>
      )}
    </Card>
  );
}
