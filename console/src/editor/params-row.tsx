import { Input, Segmented } from "antd";
import { useMemo, useState } from "react";
import { FormRow } from "../parts/form-row.tsx";
import { type Problems, problemsOf } from "../schema/input-problems.ts";
import { fieldOf, type JsonSchema } from "../schema/json-schema.ts";
import { SchemaForm } from "../schema/schema-form.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { schemaText } from "../text/schema-text.ts";

interface ParamsRowProps {
  /** JSON text, as definitions keep parameters; text that is not JSON is the parameter itself. */
  readonly value: string;
  /** The schema of the job's parameters, if it declares one. */
  readonly schema: JsonSchema | undefined;
  readonly onChange: (text: string) => void;
}

function parse(text: string): { readonly value: unknown } | undefined {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    // It stays text.
    return undefined;
  }
}

/** Parameters of a job: by the fields of its schema, or as text. */
export function ParamsRow({ value, schema, onChange }: ParamsRowProps) {
  const text = useText(editorText);
  const words = useText(schemaText);
  const parsed = useMemo(() => parse(value), [value]);
  const hasForm = schema !== undefined && fieldOf(schema, schema).kind === "object";
  const [mode, setMode] = useState<"form" | "json">(hasForm && parsed !== undefined ? "form" : "json");
  const problems = useMemo((): Problems => {
    return schema === undefined || parsed === undefined ? new Map() : problemsOf(schema, parsed.value ?? {});
  }, [schema, parsed]);
  const isForm = mode === "form" && hasForm && parsed !== undefined;
  return (
    <div className="editor-params">
      {hasForm && (
        <Segmented
          size="small"
          aria-label={text.paramsForm}
          options={(["form", "json"] as const).map((each) => ({ value: each, label: words[each] }))}
          value={isForm ? "form" : "json"}
          onChange={setMode}
        />
      )}
      {isForm ? (
        <SchemaForm
          root={schema}
          value={parsed.value}
          onChange={(next) => onChange(next === undefined ? "" : JSON.stringify(next))}
          problems={problems}
          onLeave={() => undefined}
          onBroken={() => undefined}
        />
      ) : (
        <FormRow id="node-params" label={text.params}>
          <Input.TextArea
            id="node-params"
            rows={4}
            className="mono"
            spellCheck={false}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        </FormRow>
      )}
    </div>
  );
}
