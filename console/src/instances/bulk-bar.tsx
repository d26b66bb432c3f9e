import { Button, Input, Modal, Progress } from "antd";
import { useRef, useState } from "react";
import { call, messageOf } from "../api/client.ts";
import type { InstanceSummary } from "../api/model.ts";
import { hasEnded } from "../base/status.ts";
import { useText } from "../text/define-text.ts";
import { instancesText } from "../text/instances-text.ts";
import { operationText } from "../text/operation-text.ts";

interface BulkOperation {
  readonly key: "retry" | "pause" | "resume" | "terminate" | "remove";
  readonly allows: (row: InstanceSummary) => boolean;
  readonly run: (id: string, reason: string) => Promise<unknown>;
  readonly needsNote?: boolean;
}

const operations: readonly BulkOperation[] = [
  {
    key: "retry",
    allows: ({ status }) => status === "Failed" || status === "Terminated",
    run: (id) => call("retryInstance", { params: { id } }),
  },
  {
    key: "pause",
    allows: ({ status }) => status === "Running" || status === "Ready",
    run: (id) => call("pauseInstance", { params: { id } }),
  },
  {
    key: "resume",
    allows: ({ status, quarantined }) => status === "Paused" || quarantined !== null,
    run: (id) => call("resumeInstance", { params: { id } }),
  },
  {
    key: "terminate",
    allows: ({ status }) => !hasEnded(status),
    run: (id, reason) => call("terminateInstance", { params: { id }, body: { reason } }),
    needsNote: true,
  },
  {
    key: "remove",
    allows: ({ status }) => hasEnded(status),
    run: (id) => call("deleteInstance", { params: { id } }),
  },
];

const atOnce = 4;
/** Above this number, and for a deletion, the count is typed. */
const typedFrom = 100;

interface BulkBarProps {
  readonly rows: readonly InstanceSummary[];
  readonly onDone: () => void;
  readonly onClear: () => void;
}

export function BulkBar({ rows, onDone, onClear }: BulkBarProps) {
  const text = useText(instancesText);
  const words = useText(operationText);
  const [chosen, setChosen] = useState<{ operation: BulkOperation; rows: readonly InstanceSummary[] }>();
  const close = (): void => {
    setChosen(undefined);
    onClear();
    onDone();
  };
  return (
    <>
      {rows.length > 0 && (
        <div className="bulk-bar" role="region" aria-label={text.selected(rows.length)}>
          <b>{text.selected(rows.length)}</b>
          {operations.map((operation) => {
            const count = rows.filter(operation.allows).length;
            return (
              <Button
                key={operation.key}
                size="small"
                disabled={count === 0}
                danger={operation.key === "terminate" || operation.key === "remove"}
                onClick={() => setChosen({ operation, rows: rows.filter(operation.allows) })}
              >
                {text.bulkButton(words[operation.key], count)}
              </Button>
            );
          })}
          <Button size="small" type="text" onClick={onClear}>
            {text.unselect}
          </Button>
        </div>
      )}
      {chosen !== undefined && <BulkDialog {...chosen} skipped={rows.length - chosen.rows.length} onClose={close} />}
    </>
  );
}

interface DialogProps {
  readonly operation: BulkOperation;
  /** The set is frozen when the dialog opens. */
  readonly rows: readonly InstanceSummary[];
  readonly skipped: number;
  readonly onClose: () => void;
}

/** Carries an operation out on each row, a few at a time, until it is stopped. */
function useBulkRun(operation: BulkOperation, rows: readonly InstanceSummary[]) {
  const [done, setDone] = useState<number>();
  const [failures, setFailures] = useState<readonly string[]>([]);
  const isStopped = useRef(false);
  const run = async (note: string): Promise<void> => {
    setDone(0);
    const queue = [...rows];
    const work = async (): Promise<void> => {
      for (let row = queue.shift(); row !== undefined && !isStopped.current; row = queue.shift()) {
        const { instanceId } = row;
        await operation.run(instanceId, note).catch((error: unknown) => {
          setFailures((before) => [...before, `${instanceId}: ${messageOf(error)}`]);
        });
        setDone((before = 0) => before + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  };
  return { done, failures, isStopped, run };
}

function BulkDialog({ operation, rows, skipped, onClose }: DialogProps) {
  const text = useText(instancesText);
  const words = useText(operationText);
  const [note, setNote] = useState("");
  const [typed, setTyped] = useState("");
  const { done, failures, isStopped, run } = useBulkRun(operation, rows);
  const needsCount = operation.key === "remove" || rows.length > typedFrom;
  const isReady =
    (operation.needsNote !== true || note.trim() !== "") && (!needsCount || typed === String(rows.length));
  const verb = words[operation.key];
  const isDangerous = operation.key === "remove" || operation.key === "terminate";
  const isOver = done !== undefined && (done >= rows.length || isStopped.current);
  return (
    <Modal
      open
      title={text.bulkButton(verb, rows.length)}
      onCancel={onClose}
      footer={
        done === undefined ? (
          <Button type="primary" danger={isDangerous} disabled={!isReady} onClick={() => void run(note)}>
            {text.bulkButton(verb, rows.length)}
          </Button>
        ) : (
          <Button onClick={isOver ? onClose : () => (isStopped.current = true)}>
            {isOver ? text.close : text.stop}
          </Button>
        )
      }
    >
      <p className="operation-sentence">
        {text.bulkSays(verb, rows.length)} {skipped > 0 && text.bulkSkips(skipped)}
      </p>
      {done === undefined && operation.needsNote === true && (
        <Input
          value={note}
          placeholder={words.note}
          aria-label={words.note}
          onChange={(e) => setNote(e.target.value)}
        />
      )}
      {done === undefined && needsCount && (
        <Input
          value={typed}
          placeholder={text.typeCount(rows.length)}
          aria-label={text.typeCount(rows.length)}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
      {done !== undefined && (
        <>
          <Progress
            percent={Math.round((done / rows.length) * 100)}
            size="small"
            aria-label={text.progress(done, rows.length)}
          />
          <p className="quiet">{text.progress(done, rows.length)}</p>
        </>
      )}
      {failures.length > 0 && (
        <pre className="failure-text">
          {text.failures(failures.length)}
          {"\n"}
          {failures.slice(0, 20).join("\n")}
        </pre>
      )}
    </Modal>
  );
}
