import { Input } from "antd";
import { useEffect, useState } from "react";
import { messageOf } from "../api/client.ts";
import { FormRow } from "../parts/form-row.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";

interface JsonRowProps {
  readonly id: string;
  readonly label: string;
  /** The JSON text as it is. */
  readonly value: string;
  readonly rows: number;
  /** Called with each object that the text stands for; undefined if it is empty. */
  readonly onChange: (value: object | undefined) => void;
}

/** An object as JSON. What is typed stays as it was typed, until the object changes elsewhere. */
export function JsonRow({ id, label, value, rows, onChange }: JsonRowProps) {
  const text = useText(editorText);
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: string }>({ text: value, of: value });
  useEffect(() => setTyped((before) => (before.of === value ? before : { text: value, of: value })), [value]);
  const parsed = parseObject(typed.text);
  return (
    <FormRow id={id} label={label} problem={"message" in parsed ? text.notJson(parsed.message) : undefined}>
      <Input.TextArea
        id={id}
        rows={rows}
        className="mono"
        spellCheck={false}
        value={typed.text}
        onChange={({ target }) => {
          const next = parseObject(target.value);
          setTyped({ text: target.value, of: "value" in next ? textOf(next.value) : value });
          if ("value" in next) onChange(next.value);
        }}
      />
    </FormRow>
  );
}

function textOf(value: object | undefined): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

function parseObject(text: string): { readonly value: object | undefined } | { readonly message: string } {
  if (text.trim() === "") return { value: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value };
    return { message: "{ … }" };
  } catch (error) {
    return { message: messageOf(error) };
  }
}
