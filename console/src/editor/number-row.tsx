import { InputNumber } from "antd";
import { FormRow } from "../parts/form-row.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";

interface NumberRowProps {
  readonly id: string;
  readonly label: string;
  readonly value: number | undefined;
  readonly min: number;
  readonly onChange: (value: number | undefined) => void;
}

export function NumberRow({ id, label, value, min, onChange }: NumberRowProps) {
  const text = useText(editorText);
  return (
    <FormRow id={id} label={label}>
      <InputNumber
        id={id}
        className="schema-number"
        min={min}
        value={value ?? null}
        placeholder={text.unset}
        onChange={(next) => onChange(next ?? undefined)}
      />
    </FormRow>
  );
}
