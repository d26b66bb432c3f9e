import { Input, Modal } from "antd";
import { useState } from "react";
import { navigate, workflowPath } from "../base/place.ts";
import { FormRow } from "../parts/form-row.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";

/** Asks for the name of a new workflow, and opens the editor. */
export function NewWorkflowDialog({ onClose }: { readonly onClose: () => void }) {
  const text = useText(editorText);
  const [name, setName] = useState("");
  const begin = (): void => {
    if (name.trim() !== "") navigate(`${workflowPath(name.trim(), "edit")}?new=1`);
  };
  return (
    <Modal
      open
      title={text.newTitle}
      okText={text.create}
      okButtonProps={{ disabled: name.trim() === "" }}
      onOk={begin}
      onCancel={onClose}
    >
      <p className="operation-sentence">{text.newSays}</p>
      <FormRow id="new-name" label={text.name}>
        <Input
          id="new-name"
          autoFocus
          spellCheck={false}
          value={name}
          onChange={({ target }) => setName(target.value)}
          onPressEnter={begin}
        />
      </FormRow>
    </Modal>
  );
}
