import { useQuery } from "@tanstack/react-query";
import { Button, Dropdown, Input, Modal, Progress } from "antd";
import { useRef, useState } from "react";
import type { RequestOf } from "../../../src/api/routes.ts";
import { call, messageOf } from "../api/client.ts";
import { Loading, Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { instancesText } from "../text/instances-text.ts";
import { operationText } from "../text/operation-text.ts";
import type { InstanceFilter } from "./use-instances.ts";

type BulkRequest = RequestOf<"bulkInstances">["body"];
type Operation = BulkRequest["operation"];

const operations = ["retry", "pause", "resume", "terminate", "delete"] as const;
/** Above this number, and for a deletion, the count is typed. */
const typedFrom = 100;

function wordOf(operation: Operation, words: ReturnType<typeof useOperationWords>): string {
  return words[operation === "delete" ? "remove" : operation];
}

function useOperationWords() {
  return useText(operationText);
}

function filterOf({ status, ...filter }: InstanceFilter): BulkRequest["filter"] {
  const given = { ...filter, status: status?.split(",") };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

interface BulkAllProps {
  readonly filter: InstanceFilter;
  readonly onDone: () => void;
}

/** Operations on everything that the filters match, also what is not shown. */
export function BulkAll({ filter, onDone }: BulkAllProps) {
  const text = useText(instancesText);
  const words = useOperationWords();
  const [chosen, setChosen] = useState<{ operation: Operation; filter: InstanceFilter }>();
  const items = operations.map((key) => ({
    key,
    label: wordOf(key, words),
    danger: key === "terminate" || key === "delete",
    onClick: () => setChosen({ operation: key, filter }),
  }));
  const close = (): void => {
    setChosen(undefined);
    onDone();
  };
  return (
    <>
      <Dropdown menu={{ items }} trigger={["click"]}>
        <Button>{text.bulkAll}</Button>
      </Dropdown>
      {chosen !== undefined && <BulkAllDialog {...chosen} onClose={close} />}
    </>
  );
}

interface Outcome {
  readonly done: number;
  readonly failures: readonly string[];
  readonly isOver: boolean;
  readonly error?: unknown;
}

/** Carries the operation out page after page, until it is stopped. */
function useBulkRun(operation: Operation) {
  const [outcome, setOutcome] = useState<Outcome>();
  const isStopped = useRef(false);
  const run = async (body: BulkRequest): Promise<void> => {
    const failures: string[] = [];
    let done = 0;
    setOutcome({ done, failures, isOver: false });
    for (let cursor: string | null | undefined; cursor !== null && !isStopped.current;) {
      const page = await call("bulkInstances", { body: { ...body, operation, ...(cursor && { cursor }) } });
      failures.push(...page.failures.map(({ instanceId, message }) => `${instanceId}: ${message}`));
      done += page.instanceIds.length;
      setOutcome({ done, failures, isOver: false });
      cursor = page.next;
    }
    setOutcome({ done, failures, isOver: true });
  };
  const begin = (body: BulkRequest): void => {
    run(body).catch((error: unknown) => {
      setOutcome((now = { done: 0, failures: [], isOver: true }) => ({ ...now, isOver: true, error }));
    });
  };
  return { outcome, begin, stop: () => (isStopped.current = true) };
}

interface DialogProps {
  readonly operation: Operation;
  /** Frozen when the dialog opens. */
  readonly filter: InstanceFilter;
  readonly onClose: () => void;
}

function BulkAllDialog({ operation, filter, onClose }: DialogProps) {
  const text = useText(instancesText);
  const words = useOperationWords();
  const [note, setNote] = useState("");
  const [typed, setTyped] = useState("");
  const { outcome, begin, stop } = useBulkRun(operation);
  const preview = useQuery({
    queryKey: ["bulk-count", operation, filter],
    queryFn: () => call("countBulk", { body: { operation, filter: filterOf(filter) } }),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const verb = wordOf(operation, words);
  const count = preview.data?.count ?? 0;
  const needsCount = operation === "delete" || count > typedFrom;
  const needsNote = operation === "terminate";
  const isReady = count > 0 && (!needsNote || note.trim() !== "") && (!needsCount || typed === String(count));
  const start = (): void => {
    const createdTo = preview.data?.createdTo;
    // The server's bound is the moment of its count; a day that was chosen may end before it.
    const ends = [createdTo, filter.createdTo].filter((end) => end !== undefined);
    const bounded = { ...filterOf(filter), ...(ends.length > 0 && { createdTo: Math.min(...ends) }) };
    begin({ operation, filter: bounded, ...(needsNote && { reason: note.trim() }) });
  };
  const button = text.bulkButton(verb, count);
  return (
    <Modal
      open
      title={preview.data === undefined ? verb : button}
      onCancel={onClose}
      footer={
        outcome === undefined ? (
          <Button
            type="primary"
            danger={operation === "delete" || operation === "terminate"}
            disabled={!isReady}
            onClick={start}
          >
            {button}
          </Button>
        ) : (
          <Button onClick={outcome.isOver ? onClose : stop}>{outcome.isOver ? text.close : text.stop}</Button>
        )
      }
    >
      {preview.isPending && <Loading rows={2} />}
      {preview.error !== null && <Problem error={preview.error} />}
      {preview.data !== undefined && (
        <p className="operation-sentence">
          {count === 0 ? text.bulkNone : text.bulkAllSays(verb, count, preview.data.isCapped)}
        </p>
      )}
      {outcome === undefined && needsNote && count > 0 && <Field label={words.note} value={note} onChange={setNote} />}
      {outcome === undefined && needsCount && count > 0 && (
        <Field label={text.typeCount(count)} value={typed} onChange={setTyped} />
      )}
      {outcome !== undefined && <BulkOutcome outcome={outcome} count={count} />}
    </Modal>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ label, value, onChange }: FieldProps) {
  return (
    <Input value={value} placeholder={label} aria-label={label} onChange={(event) => onChange(event.target.value)} />
  );
}

function BulkOutcome({ outcome, count }: { readonly outcome: Outcome; readonly count: number }) {
  const text = useText(instancesText);
  const { done, failures, isOver, error } = outcome;
  return (
    <>
      <Progress
        percent={isOver && error === undefined ? 100 : Math.min(100, Math.round((done / count) * 100))}
        size="small"
        aria-label={text.progress(done, count)}
      />
      <p className="quiet">{text.progress(done, count)}</p>
      {failures.length > 0 && (
        <pre className="failure-text">
          {text.failures(failures.length)}
          {"\n"}
          {failures.slice(0, 20).join("\n")}
        </pre>
      )}
      {error !== undefined && <pre className="failure-text">{messageOf(error)}</pre>}
    </>
  );
}
