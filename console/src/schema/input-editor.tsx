import { Button, Input, Segmented } from "antd";
import { useMemo, useState } from "react";
import { messageOf } from "../api/client.ts";
import { prettyJson } from "../base/format.ts";
import { useText } from "../text/define-text.ts";
import { schemaText } from "../text/schema-text.ts";
import { type Problems, problemsOf, refusedFields } from "./input-problems.ts";
import { fieldOf, initialValue, type JsonSchema } from "./json-schema.ts";
import { SchemaForm, useProblemText } from "./schema-form.tsx";

export interface InputState {
  readonly mode: "form" | "json";
  readonly value: unknown;
  /** The JSON text, in the mode of that name. */
  readonly text: string;
  /** Fields that were left; undefined shows the problems of all. */
  readonly left: ReadonlySet<string> | undefined;
  /** Fields whose text is no JSON. */
  readonly broken: ReadonlyMap<string, string>;
  readonly refused: Problems;
  /** Counts values that were put in from outside, at which fields forget the text that was typed. */
  readonly revision: number;
}

export interface InputForm {
  readonly schema: JsonSchema | undefined;
  readonly state: InputState;
  readonly change: (change: Partial<InputState>) => void;
  /** The value, if there is nothing against it; otherwise every problem is shown from now on. */
  readonly take: () => { readonly value: unknown } | undefined;
  /** Puts what the server says beside the fields that it speaks of. */
  readonly refuse: (error: unknown) => void;
}

function parseInput(text: string): { readonly value: unknown } | { readonly message: string } {
  try {
    return { value: text.trim() === "" ? undefined : (JSON.parse(text) as unknown) };
  } catch (error) {
    return { message: messageOf(error) };
  }
}

/** The input of a start: fields where there is a schema, and JSON as an alternative. */
export function useInputForm(schema: JsonSchema | undefined, initial?: { readonly value: unknown }): InputForm {
  const [state, setState] = useState<InputState>(() => {
    const value = initial?.value ?? (schema && initialValue(schema, schema, true));
    const text = value === undefined ? "" : prettyJson(value);
    // A schema that no form can be made of is entered as JSON.
    const mode = schema === undefined || fieldOf(schema, schema).kind === "json" ? "json" : "form";
    return { mode, value, text, left: new Set(), broken: new Map(), refused: new Map(), revision: 0 };
  });
  const take = (): { readonly value: unknown } | undefined => {
    const parsed = state.mode === "json" ? parseInput(state.text) : { value: state.value };
    setState((before) => ({ ...before, left: undefined, refused: new Map() }));
    if ("message" in parsed || (state.mode === "form" && state.broken.size > 0)) return undefined;
    return schema !== undefined && problemsOf(schema, parsed.value).size > 0 ? undefined : parsed;
  };
  return {
    schema,
    state,
    change: (change) => setState((before) => ({ ...before, ...change })),
    take,
    refuse: (error) => setState((before) => ({ ...before, refused: refusedFields(messageOf(error)) })),
  };
}

interface InputEditorProps {
  readonly form: InputForm;
  /** An example to begin with. */
  readonly example?: { readonly label: string; readonly value: unknown } | undefined;
}

export function InputEditor({ form, example }: InputEditorProps) {
  const text = useText(schemaText);
  const { schema, state, change } = form;
  const problems = useShownProblems(form);
  const enter = (value: unknown): void => {
    change({ value, text: prettyJson(value), broken: new Map(), revision: state.revision + 1 });
  };
  const switchTo = (mode: InputState["mode"]): void => {
    if (mode === "json") return change({ mode, text: state.value === undefined ? "" : prettyJson(state.value) });
    const parsed = parseInput(state.text);
    change({ mode, broken: new Map(), ...("value" in parsed && { value: parsed.value }) });
  };
  return (
    <div className="input-editor">
      <div className="input-tools">
        {schema !== undefined && (
          <Segmented
            size="small"
            aria-label={text.mode}
            options={(["form", "json"] as const).map((mode) => ({ value: mode, label: text[mode] }))}
            value={state.mode}
            onChange={switchTo}
          />
        )}
        {example !== undefined && (
          <Button size="small" onClick={() => enter(example.value)}>
            {example.label}
          </Button>
        )}
      </div>
      {state.mode === "form" && schema !== undefined ? (
        <SchemaForm
          key={state.revision}
          root={schema}
          value={state.value}
          onChange={(value) => change({ value, refused: new Map() })}
          problems={problems}
          onLeave={(path) => change({ left: state.left && new Set([...state.left, path]) })}
          onBroken={(path, message) => {
            const broken = new Map(state.broken);
            if (message === undefined) broken.delete(path);
            else broken.set(path, message);
            change({ broken });
          }}
        />
      ) : (
        <JsonInput form={form} problems={problems} />
      )}
    </div>
  );
}

/** Problems of fields that were left; after an attempt to send, of all. */
function useShownProblems({ schema, state }: InputForm): Problems {
  const text = useText(schemaText);
  const { mode, value, left, broken, refused } = state;
  return useMemo(() => {
    const parsed = mode === "json" ? parseInput(state.text) : { value };
    const found = new Map(schema === undefined || !("value" in parsed) ? [] : problemsOf(schema, parsed.value));
    for (const path of found.keys()) if (left !== undefined && !left.has(path)) found.delete(path);
    for (const [path, problem] of refused) found.set(path, problem);
    for (const [path, message] of broken) found.set(path, { kind: "server", text: text.notJson(message) });
    return found;
  }, [schema, mode, value, left, broken, refused, state.text, text]);
}

function JsonInput({ form, problems }: { readonly form: InputForm; readonly problems: Problems }) {
  const text = useText(schemaText);
  const { state, change, schema } = form;
  const parsed = parseInput(state.text);
  return (
    <div className="schema-row">
      <Input.TextArea
        rows={9}
        className="mono"
        spellCheck={false}
        aria-label={text.json}
        aria-invalid={"message" in parsed || problems.size > 0}
        placeholder="{ }"
        value={state.text}
        onChange={({ target }) => change({ text: target.value, refused: new Map() })}
        onBlur={() => change({ left: undefined })}
      />
      {schema === undefined && <p className="quiet small">{text.noSchema}</p>}
      {"message" in parsed ? (
        <p className="schema-problem" role="alert">
          {text.notJson(parsed.message)}
        </p>
      ) : (
        <ProblemList problems={problems} />
      )}
    </div>
  );
}

function ProblemList({ problems }: { readonly problems: Problems }) {
  const words = useProblemText();
  return [...problems].map(([path, problem]) => (
    <p key={path} className="schema-problem" role="alert">
      {path !== "" && <code>{path}</code>} {words(problem)}
    </p>
  ));
}
