import { Button, Input, InputNumber, Select, Switch } from "antd";
import { createContext, type FocusEvent, type ReactNode, useContext, useState } from "react";
import { messageOf } from "../api/client.ts";
import { prettyJson } from "../base/format.ts";
import { FormRow } from "../parts/form-row.tsx";
import { Icon } from "../parts/icon.tsx";
import { useText } from "../text/define-text.ts";
import { schemaText } from "../text/schema-text.ts";
import { pathOf, type Problem, type Problems } from "./input-problems.ts";
import { type Field, fieldOf, initialValue, type JsonSchema } from "./json-schema.ts";

interface FormState {
  readonly root: JsonSchema;
  readonly problems: Problems;
  /** Notes that a field was left, after which its problem is shown; text that is no JSON is a problem of its own. */
  readonly onLeave: (path: string) => void;
  readonly onBroken: (path: string, message: string | undefined) => void;
}

const FormContext = createContext<FormState | null>(null);

function useFormState(): FormState {
  const state = useContext(FormContext);
  if (state === null) throw new Error("a field is shown within a form");
  return state;
}

interface SchemaFormProps extends FormState {
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

/** Fields by the types of a schema. */
export function SchemaForm({ value, onChange, ...state }: SchemaFormProps) {
  const field = fieldOf(state.root, state.root);
  return (
    <FormContext value={state}>
      <div className="schema-form">
        {field.kind === "object" ? (
          <Properties field={field} path="" value={value} onChange={onChange} depth={0} />
        ) : (
          <SchemaField
            schema={state.root}
            name="input"
            path=""
            isRequired
            value={value}
            onChange={onChange}
            depth={0}
          />
        )}
      </div>
    </FormContext>
  );
}

interface ValueProps {
  readonly path: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** Levels above: a schema that contains itself is entered as JSON from some level on. */
  readonly depth: number;
}

const depthMax = 6;

function Properties({ field, path, value, onChange, depth }: ValueProps & { readonly field: Field }) {
  const values = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const change = (name: string, next: unknown): void => {
    const { [name]: _before, ...others } = values;
    onChange(next === undefined ? others : { ...values, [name]: next });
  };
  return Object.entries(field.schema.properties ?? {}).map(([name, schema]) => (
    <SchemaField
      key={name}
      schema={schema}
      name={name}
      path={pathOf(path, name)}
      isRequired={field.schema.required?.includes(name) ?? false}
      value={values[name]}
      onChange={(next) => change(name, next)}
      depth={depth}
    />
  ));
}

interface SchemaFieldProps extends ValueProps {
  readonly schema: JsonSchema;
  readonly name: string;
  readonly isRequired: boolean;
}

function SchemaField({ schema, name, isRequired, ...rest }: SchemaFieldProps) {
  const { root } = useFormState();
  const found = fieldOf(schema, root);
  const field: Field = rest.depth > depthMax ? { ...found, kind: "json" } : found;
  const label = field.schema.title ?? name;
  if (field.kind === "object") return <ObjectField field={field} label={label} isRequired={isRequired} {...rest} />;
  if (field.kind === "list") return <ListField field={field} label={label} isRequired={isRequired} {...rest} />;
  return (
    <Row path={rest.path} label={label} isRequired={isRequired} description={field.schema.description}>
      <Control field={field} isRequired={isRequired} label={label} {...rest} />
    </Row>
  );
}

interface RowProps {
  readonly path: string;
  readonly label: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly children: ReactNode;
}

function idOf(path: string): string {
  return `input-${path}`;
}

function Row({ path, label, isRequired, description, children }: RowProps) {
  const text = useText(schemaText);
  const words = useProblemText();
  const problem = useFormState().problems.get(path);
  const shown = (
    <>
      {label} {!isRequired && <span className="quiet small">{text.optional}</span>}
    </>
  );
  return (
    <FormRow id={idOf(path)} label={shown} hint={description} problem={problem && words(problem)}>
      {children}
    </FormRow>
  );
}

function ProblemOf({ path }: { readonly path: string }) {
  const words = useProblemText();
  const problem = useFormState().problems.get(path);
  if (problem === undefined) return null;
  return (
    <p className="schema-problem" id={`${idOf(path)}-problem`} role="alert">
      {words(problem)}
    </p>
  );
}

/** The sentence of a problem in the chosen language. */
export function useProblemText(): (problem: Problem) => string {
  const text = useText(schemaText);
  return (problem) => {
    switch (problem.kind) {
      case "server":
        return problem.text;
      case "type":
        return text.wrongType;
      case "json":
        return text.notJson("");
      case "missing":
      case "choice":
      case "pattern":
        return text[problem.kind];
      default:
        return text[problem.kind](problem.limit);
    }
  };
}

interface ControlProps extends ValueProps {
  readonly field: Field;
  readonly label: string;
  readonly isRequired: boolean;
}

/**
 * A field that is left for a button shows no problem yet: the line with it would move the button away under the pointer,
 * and the click would be lost. The button that sends the form shows all problems anyway.
 */
function leave({ relatedTarget }: FocusEvent, onLeave: () => void): void {
  if (!(relatedTarget instanceof HTMLButtonElement)) onLeave();
}

function Control(props: ControlProps) {
  const { field, path, value, onChange, isRequired } = props;
  const { problems, onLeave } = useFormState();
  const text = useText(schemaText);
  const isWrong = problems.has(path);
  const shared = {
    id: idOf(path),
    onBlur: (event: FocusEvent) => leave(event, () => onLeave(path)),
    "aria-invalid": isWrong,
    ...(isWrong && { "aria-describedby": `${idOf(path)}-problem`, status: "error" as const }),
  };
  switch (field.kind) {
    case "choice":
      return <Choice {...props} values={field.choices} shared={shared} />;
    case "boolean":
      if (!isRequired && field.schema.default === undefined) {
        return <Choice {...props} values={[true, false]} shared={shared} />;
      }
      return <Switch id={shared.id} checked={value === true} onChange={onChange} aria-label={props.label} />;
    case "number":
    case "integer":
      return (
        <InputNumber
          {...shared}
          className="schema-number"
          value={typeof value === "number" ? value : null}
          onChange={(next) => onChange(next ?? undefined)}
          placeholder={isRequired ? "" : text.unset}
          {...(field.kind === "integer" && { precision: 0 })}
        />
      );
    case "text":
      return (
        <Input
          {...shared}
          spellCheck={false}
          value={typeof value === "string" ? value : ""}
          placeholder={field.schema.format ?? ""}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
        />
      );
    default:
      return <JsonField {...props} />;
  }
}

interface ChoiceProps extends ControlProps {
  readonly values: readonly unknown[];
  readonly shared: object;
}

function Choice({ values, value, onChange, field, isRequired, shared, label }: ChoiceProps) {
  const text = useText(schemaText);
  const options = [...values, ...(field.mayBeNull ? [null] : [])].map((each) => ({
    value: JSON.stringify(each),
    label: typeof each === "string" ? each : JSON.stringify(each),
  }));
  return (
    <Select
      {...shared}
      aria-label={label}
      options={options}
      value={value === undefined ? null : JSON.stringify(value)}
      placeholder={text.unset}
      allowClear={!isRequired}
      onChange={(next: string | undefined) => onChange(next === undefined ? undefined : JSON.parse(next))}
    />
  );
}

function JsonField({ path, value, onChange }: ControlProps) {
  const [typed, setTyped] = useState(value === undefined ? "" : prettyJson(value));
  const { problems, onLeave, onBroken } = useFormState();
  const type = (text: string): void => {
    setTyped(text);
    try {
      onChange(text.trim() === "" ? undefined : JSON.parse(text));
      onBroken(path, undefined);
    } catch (error) {
      onBroken(path, messageOf(error));
    }
  };
  return (
    <Input.TextArea
      id={idOf(path)}
      rows={3}
      className="mono"
      spellCheck={false}
      value={typed}
      placeholder="{ }"
      aria-invalid={problems.has(path)}
      onChange={({ target }) => type(target.value)}
      onBlur={(event) => leave(event, () => onLeave(path))}
    />
  );
}

function ObjectField({ field, label, isRequired, ...rest }: ControlProps) {
  const text = useText(schemaText);
  const { root } = useFormState();
  const { path, value, onChange, depth } = rest;
  const isThere = value !== undefined && value !== null;
  return (
    <fieldset className="schema-group">
      <legend>
        {label} {!isRequired && <span className="quiet small">{text.optional}</span>}
      </legend>
      {field.schema.description !== undefined && <p className="quiet small">{field.schema.description}</p>}
      {isThere && <Properties field={field} path={path} value={value} onChange={onChange} depth={depth + 1} />}
      {!isThere && (
        <Button
          size="small"
          icon={<Icon name="plus" size={12} />}
          onClick={() => onChange(initialValue(field.schema, root, true))}
        >
          {text.add(label)}
        </Button>
      )}
      {isThere && !isRequired && (
        <Button size="small" onClick={() => onChange(undefined)}>
          {text.clear(label)}
        </Button>
      )}
      <ProblemOf path={path} />
    </fieldset>
  );
}

function ListField({ field, label, isRequired, path, value, onChange, depth }: ControlProps) {
  const text = useText(schemaText);
  const { root } = useFormState();
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const itemSchema = field.schema.items as JsonSchema;
  const change = (next: readonly unknown[]): void => onChange(next.length === 0 && !isRequired ? undefined : next);
  return (
    <fieldset className="schema-group">
      <legend>
        {label} {!isRequired && <span className="quiet small">{text.optional}</span>}
      </legend>
      {field.schema.description !== undefined && <p className="quiet small">{field.schema.description}</p>}
      {items.map((item, at) => (
        <div className="schema-item" key={at}>
          <SchemaField
            schema={itemSchema}
            name={String(at + 1)}
            path={pathOf(path, at)}
            isRequired
            value={item}
            onChange={(next) => change(items.with(at, next ?? null))}
            depth={depth + 1}
          />
          <button
            type="button"
            className="copy-button"
            aria-label={text.removeItem(at + 1)}
            onClick={() => change(items.toSpliced(at, 1))}
          >
            <Icon name="trash" size={14} />
          </button>
        </div>
      ))}
      <Button
        size="small"
        icon={<Icon name="plus" size={12} />}
        onClick={() => change([...items, initialValue(itemSchema, root, true) ?? emptyItem(itemSchema, root)])}
      >
        {text.addItem}
      </Button>
      <ProblemOf path={path} />
    </fieldset>
  );
}

/** A new item of a list must be something: JSON has no holes. */
function emptyItem(schema: JsonSchema, root: JsonSchema): unknown {
  const { kind, choices } = fieldOf(schema, root);
  if (kind === "choice") return choices[0];
  const empty = { text: "", number: 0, integer: 0, boolean: false, list: [], object: {}, json: null };
  return empty[kind];
}
