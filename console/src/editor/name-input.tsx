import { AutoComplete } from "antd";

interface NameInputProps {
  readonly id: string;
  readonly value: string;
  readonly names: readonly string[];
  readonly onChange: (value: string) => void;
}

/** A name that is known, or any other: what it names may come later. */
export function NameInput({ id, value, names, onChange }: NameInputProps) {
  const found = names.filter((name) => name.toLowerCase().includes(value.toLowerCase()) && name !== value);
  return (
    <AutoComplete
      id={id}
      value={value}
      options={(found.length === 0 ? names : found).slice(0, 50).map((name) => ({ value: name }))}
      onChange={(next: string | undefined) => onChange(next ?? "")}
    />
  );
}
