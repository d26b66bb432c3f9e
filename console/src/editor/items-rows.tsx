import { Input, Select, Switch } from "antd";
import type { BroadcastSpec, MapSpec, NodeJob, NodeSpec } from "../../../src/kernel/node-spec.ts";
import { isBroadcast } from "../../../src/kernel/task-definition.ts";
import { FormRow } from "../parts/form-row.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { NameInput } from "./name-input.tsx";
import { NumberRow } from "./number-row.tsx";
import type { KnownNames } from "./use-known-names.ts";

type Mode = "once" | "items" | "workers";

const modes: readonly Mode[] = ["once", "items", "workers"];

function modeOf(node: NodeSpec): Mode {
  if (isBroadcast(node)) return "workers";
  return (node.map ?? null) === null ? "once" : "items";
}

/** The fields of a mode. The number or word of PowerJob follows from them, so it is left out. */
function fieldsOf(mode: Mode): Partial<Record<keyof NodeSpec, unknown>> {
  return {
    map: mode === "items" ? { items: "" } : undefined,
    broadcast: mode === "workers" ? {} : undefined,
    executeType: undefined,
  };
}

interface ItemsRowsProps {
  readonly node: NodeSpec;
  readonly names: KnownNames;
  readonly onChange: (fields: Readonly<Record<string, unknown>>) => void;
}

/** The execution mode of a node: its job runs once, for each item of a list, or on each worker. */
export function ItemsRows({ node, names, onChange }: ItemsRowsProps) {
  const text = useText(editorText);
  const words = { once: text.runsOnce, items: text.runsForItems, workers: text.runsOnWorkers };
  const mode = modeOf(node);
  const set = (change: Partial<Record<keyof MapSpec | keyof BroadcastSpec, unknown>>): void => {
    const field = mode === "items" ? "map" : "broadcast";
    const kept = Object.entries({ ...node[field], ...change }).filter(([, value]) => value !== undefined);
    onChange({ [field]: Object.fromEntries(kept) });
  };
  return (
    <>
      <FormRow id="node-runs" label={text.runs}>
        <Select
          id="node-runs"
          aria-label={text.runs}
          value={mode}
          options={modes.map((each) => ({ value: each, label: words[each] }))}
          onChange={(next: Mode) => onChange(fieldsOf(next))}
        />
      </FormRow>
      {mode === "items" && node.map !== undefined && <MapRows map={node.map} names={names} set={set} />}
      {mode === "workers" && <BroadcastRows broadcast={node.broadcast ?? {}} names={names} set={set} />}
    </>
  );
}

interface RowsProps {
  readonly names: KnownNames;
  readonly set: (change: Partial<Record<keyof MapSpec | keyof BroadcastSpec, unknown>>) => void;
}

function MapRows({ map, names, set }: RowsProps & { readonly map: MapSpec }) {
  const text = useText(editorText);
  const { items = "", source, failFast, reduce } = map;
  return (
    <>
      <FormRow id="map-items" label={text.items} hint={text.itemsHint}>
        <Input.TextArea
          id="map-items"
          rows={2}
          className="mono"
          spellCheck={false}
          value={typeof items === "string" ? items : JSON.stringify(items)}
          onChange={({ target }) => {
            const isLeftOut = target.value === "" && source !== undefined;
            set({ items: isLeftOut ? undefined : itemsOf(target.value) });
          }}
        />
      </FormRow>
      <HookRow
        id="map-source"
        label={text.source}
        hook={source}
        names={names}
        onChange={(job) => set({ source: job })}
      />
      <LimitRows spec={map} set={set} />
      <FormRow id="map-fail-fast" label={text.failFast}>
        <Switch
          id="map-fail-fast"
          aria-label={text.failFast}
          checked={failFast === true}
          onChange={(isOn) => set({ failFast: isOn ? true : undefined })}
        />
      </FormRow>
      <HookRow
        id="map-reduce"
        label={text.reduce}
        hook={reduce}
        names={names}
        onChange={(job) => set({ reduce: job })}
      />
    </>
  );
}

function BroadcastRows({ broadcast, names, set }: RowsProps & { readonly broadcast: BroadcastSpec }) {
  const text = useText(editorText);
  const { before, after } = broadcast;
  return (
    <>
      <HookRow
        id="before"
        label={text.hookBefore}
        hook={before}
        names={names}
        onChange={(job) => set({ before: job })}
      />
      <HookRow id="after" label={text.hookAfter} hook={after} names={names} onChange={(job) => set({ after: job })} />
      <LimitRows spec={broadcast} set={set} />
    </>
  );
}

interface LimitRowsProps extends Pick<RowsProps, "set"> {
  readonly spec: Pick<MapSpec, "concurrency" | "tolerateFailures">;
}

function LimitRows({ spec, set }: LimitRowsProps) {
  const text = useText(editorText);
  const { concurrency, tolerateFailures } = spec;
  return (
    <>
      <NumberRow
        id="map-concurrency"
        label={text.atOnce}
        value={concurrency}
        min={1}
        onChange={(value) => set({ concurrency: value })}
      />
      <FormRow id="map-tolerate" label={text.tolerate} hint={text.tolerateHint}>
        <Input
          id="map-tolerate"
          value={tolerateFailures ?? ""}
          placeholder={text.unset}
          onChange={({ target }) => set({ tolerateFailures: toleranceOf(target.value) })}
        />
      </FormRow>
    </>
  );
}

interface HookRowProps {
  readonly id: string;
  readonly label: string;
  readonly hook: NodeJob | undefined;
  readonly names: KnownNames;
  readonly onChange: (job: NodeJob | undefined) => void;
}

/** A job that runs once; its parameters stay as they are. */
function HookRow({ id, label, hook, names, onChange }: HookRowProps) {
  return (
    <FormRow id={id} label={label}>
      <NameInput
        id={id}
        value={hook?.jobName ?? ""}
        names={[...names.jobs.keys()]}
        onChange={(jobName) => onChange(jobName === "" ? undefined : { ...hook, jobName })}
      />
    </FormRow>
  );
}

/** A list in JSON, or the text of an expression. */
function itemsOf(text: string): unknown {
  if (!text.trimStart().startsWith("[")) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A list that is being typed, or an expression such as [context.a].
    return text;
  }
}

/** A number, or a share such as 10%; the check names what is neither. */
function toleranceOf(text: string): unknown {
  if (text === "") return undefined;
  return /^\d+$/.test(text) ? Number(text) : text;
}
