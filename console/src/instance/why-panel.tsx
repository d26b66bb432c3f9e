import { Button } from "antd";
import { type ReactNode, useMemo } from "react";
import { useMay } from "../api/session-context.ts";
import type { InstanceView, TaskView, Topology } from "../api/model.ts";
import type { Wait } from "../api/waits.ts";
import { instancePath, navigate } from "../base/place.ts";
import { hasEnded, toneOf } from "../base/status.ts";
import { Command, CopyButton } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Moment } from "../parts/moment.tsx";
import { StatusMark } from "../parts/status-tag.tsx";
import type { Row } from "../timeline/attempts.ts";
import { useText } from "../text/define-text.ts";
import { operationText } from "../text/operation-text.ts";
import { whyText } from "../text/why-text.ts";
import { AttemptList, FailureText } from "./attempt-list.tsx";
import { ItemBar } from "./item-bar.tsx";
import type { Operation } from "./operation-dialog.tsx";
import { ReportedProgress } from "./reported-progress.tsx";
import { eventOperation, taskOperations } from "./operations.ts";
import { useWaitSentence } from "./wait-sentence.ts";

interface WhyPanelProps {
  readonly view: InstanceView;
  readonly topology: Topology | undefined;
  readonly rows: readonly Row[];
  /** Without attempts and operations: those of a selected task are shown below. */
  readonly isShort: boolean;
  readonly isPast: boolean;
  readonly onSelect: (task: string) => void;
  readonly onOperation: (operation: Operation) => void;
}

const shownMax = 8;
/** Failures that are shown with every attempt. */
const wholeMax = 2;

/** Says why an instance waits, failed or ended: a sentence, since when, and what can be done. */
export function WhyPanel(props: WhyPanelProps) {
  const { view, isPast } = props;
  const text = useText(whyText);
  const isOver = hasEnded(view.status);
  return (
    <section className="why" aria-live="polite">
      <h2>{titleOf(view, text)}</h2>
      {view.attention !== undefined && !isPast && (
        <div className="why-attention tone-waiting">
          <Icon name="warning" />
          <div>
            <strong>{text.attention}</strong>
            <p>{view.attention}</p>
            {isCodeMissing(view) && (
              <>
                <p className="quiet">{text.bringCode}</p>
                <Command>{`npx heddle worker app.ts --url ${location.origin}`}</Command>
              </>
            )}
          </div>
        </div>
      )}
      {isOver ? <Ended {...props} /> : <Waits {...props} />}
    </section>
  );
}

/** Another worker would help; code that failed or changed needs more than that. */
function isCodeMissing({ attention = "" }: InstanceView): boolean {
  return attention.includes("is not registered in this process");
}

type Words = ReturnType<typeof useText<typeof whyText.en>>;

function titleOf({ status, pausing }: InstanceView, text: Words): string {
  if (status === "Failed") return text.whyFailed;
  if (hasEnded(status)) return text.whyEnded;
  if (status === "Paused" || pausing) return text.whyPaused;
  return status === "Ready" ? text.whyWaits : text.whyRuns;
}

interface LineProps {
  readonly status: string;
  readonly since?: number | undefined;
  readonly action?: ReactNode;
  /** Over the whole width of the panel. */
  readonly below?: ReactNode;
  readonly children: ReactNode;
}

function WhyLine({ status, since, action, below, children }: LineProps) {
  const text = useText(whyText);
  return (
    <li className="why-line">
      <StatusMark status={status} />
      <div className="why-body">
        <div>{children}</div>
        {since !== undefined && (
          <div className="quiet small">
            {text.since} <Moment at={since} />
          </div>
        )}
      </div>
      {action}
      {below !== undefined && <div className="why-below">{below}</div>}
    </li>
  );
}

function SmallButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <Button size="small" onClick={onClick}>
      {label}
    </Button>
  );
}

function Waits({ view, isPast, onSelect, onOperation }: Omit<WhyPanelProps, "topology" | "rows" | "isShort">) {
  const text = useText(whyText);
  const words = useText(operationText);
  const mayOperate = useMay("operator");
  const { untakenEvents: untaken } = view;
  const tasks = useMemo(() => new Map(view.tasks.map((task) => [task.number, task])), [view.tasks]);
  // The notice above the list says already what is wrong with the code.
  const isNoticed = view.attention !== undefined && !isPast;
  const waits = view.waiting.filter((wait) => !(isNoticed && isOfCode(wait)) && !isRunningItem(wait, tasks));
  const shown = waits.slice(0, shownMax);
  const hidden = view.waitingTotal - (view.waiting.length - waits.length) - shown.length;
  const raise = (name: string): ReactNode => {
    if (!mayOperate || isPast) return null;
    return <SmallButton label={text.raise} onClick={() => onOperation(eventOperation(view.instanceId, words, name))} />;
  };
  return (
    <ul className="why-list">
      {view.pausing && <WhyLine status="Paused">{text.pausing}</WhyLine>}
      {view.status === "Paused" && !waits.some(({ kind }) => kind === "instance") && (
        <WhyLine status="Paused">{text.paused}</WhyLine>
      )}
      {view.status === "Ready" && waits.length === 0 && <WhyLine status="Ready">{text.ready}</WhyLine>}
      {isPast && <PastRunning view={view} onSelect={onSelect} />}
      {shown.map((wait, number) => (
        <WaitLine
          key={number}
          wait={wait}
          task={wait.kind === "task" ? tasks.get(wait.task) : undefined}
          onSelect={onSelect}
          raise={raise}
        />
      ))}
      {untaken.map(({ name, count, since }) => (
        <WhyLine key={name} status="Skipped" since={since}>
          {text.untaken(name, count)}
        </WhyLine>
      ))}
      {hidden > 0 && <li className="quiet small">{text.more(hidden)}</li>}
      {waits.length === 0 && !isNoticed && view.status === "Running" && (
        <li className="quiet">{isPast ? text.past : text.nothing}</li>
      )}
    </ul>
  );
}

function isOfCode(wait: Wait): boolean {
  return wait.kind === "instance" && wait.reason === "code";
}

/** The bar of its map counts an item that runs; one that waits for a slot or a worker has something to say. */
function isRunningItem(wait: Wait, tasks: ReadonlyMap<number, TaskView>): boolean {
  return wait.kind === "task" && wait.reason === "running" && !tasks.has(wait.task);
}

/** A past moment is known from the history alone: it tells what ran, and not what kept the others waiting. */
function PastRunning({ view, onSelect }: Pick<WhyPanelProps, "view" | "onSelect">) {
  const text = useText(whyText);
  return view.tasks
    .filter(({ status }) => status === "Running")
    .slice(0, shownMax)
    .map(({ name, attempt, startedAt }) => (
      <WhyLine
        key={name}
        status="Running"
        since={startedAt}
        action={<SmallButton label={text.select} onClick={() => onSelect(name)} />}
      >
        {text.running(name, attempt)}
      </WhyLine>
    ));
}

interface WaitLineProps {
  readonly wait: Wait;
  readonly task?: TaskView | undefined;
  readonly onSelect: (task: string) => void;
  readonly raise: (name: string) => ReactNode;
}

/** Where the code waits, as the live run knows it. */
function CodeLine({ wait }: { readonly wait: Wait }) {
  const text = useText(whyText);
  if (!("line" in wait) || wait.line === undefined) return null;
  const { file, line } = wait.line;
  return (
    <div className="code-line">
      <code title={`${file}:${line}`}>{text.codeLine(file.slice(file.lastIndexOf("/") + 1), line)}</code>
      <CopyButton value={`${file}:${line}`} />
    </div>
  );
}

function WaitLine({ wait, task, onSelect, raise }: WaitLineProps) {
  const sentence = useWaitSentence();
  const text = useText(whyText);
  return (
    <WhyLine status={statusOf(wait)} since={wait.since} action={<WaitAction {...{ wait, onSelect, raise }} />}>
      {sentence(wait)}
      {task?.items !== undefined && <ItemBar items={task.items} />}
      {task?.progress !== undefined && <ReportedProgress progress={task.progress} />}
      {wait.kind === "task" && wait.reason === "outside" && (
        <p className="quiet small">
          {text.outsideHint} <code>POST /api/task/…/complete</code>
        </p>
      )}
      <CodeLine wait={wait} />
    </WhyLine>
  );
}

function statusOf(wait: Wait): string {
  if (wait.kind === "child") return "Running";
  if (wait.kind === "instance") return wait.reason === "paused" ? "Paused" : "Ready";
  if (wait.kind !== "task") return "Pending";
  if (wait.reason === "running") return "Running";
  return wait.reason === "retry" ? "Failed" : "Pending";
}

function WaitAction({ wait, onSelect, raise }: WaitLineProps) {
  const text = useText(whyText);
  const mayOperate = useMay("operator");
  if (wait.kind === "event") return raise(wait.name);
  if (wait.kind === "child") {
    const { childInstanceId: child } = wait;
    return child === undefined ? null : <SmallButton label={text.open} onClick={() => navigate(instancePath(child))} />;
  }
  if (wait.kind !== "task") return null;
  if (wait.reason === "no-worker") return <SmallButton label={text.workers} onClick={() => navigate("/workers")} />;
  if ((wait.reason === "domain" || wait.reason === "slot") && wait.slots !== undefined && mayOperate) {
    return <SmallButton label={text.resize} onClick={() => navigate("/domains")} />;
  }
  return <SmallButton label={text.select} onClick={() => onSelect(wait.taskName)} />;
}

function Ended(props: WhyPanelProps) {
  const { view, isShort } = props;
  const text = useText(whyText);
  const failed = view.tasks.filter(({ status }) => toneOf(status) === "failed");
  const notRun = view.tasks.filter(({ cause }) => cause === "upstream-failed" || cause === "instance-ended").length;
  return (
    <ul className="why-list">
      {view.status === "Success" && <WhyLine status="Success">{text.succeeded}</WhyLine>}
      {view.status === "Terminated" && (
        <WhyLine status="Terminated" since={view.endedAt}>
          {text.terminated}
          {view.reason !== undefined && `: ${view.reason}`}
        </WhyLine>
      )}
      {view.status === "Failed" && failed.length === 0 && <WhyLine status="Failed">{view.reason}</WhyLine>}
      {view.withSkippedFailures && <li className="quiet">{text.skippedFailures(failed.length)}</li>}
      {failed.slice(0, shownMax).map((task) => (
        <FailedTask key={task.name} {...props} task={task} isWhole={failed.length <= wholeMax && !isShort} />
      ))}
      {failed.length > shownMax && <li className="quiet small">{text.more(failed.length - shownMax)}</li>}
      {notRun > 0 && <li className="quiet small">{text.notRun(notRun)}</li>}
    </ul>
  );
}

interface FailedTaskProps extends Pick<
  WhyPanelProps,
  "view" | "topology" | "rows" | "isPast" | "onSelect" | "onOperation"
> {
  readonly task: TaskView;
  /** With every attempt and what can be done: where there are few failures. */
  readonly isWhole: boolean;
}

function FailedTask({ task, view, topology, rows, isPast, isWhole, onSelect, onOperation }: FailedTaskProps) {
  const text = useText(whyText);
  const words = useText(operationText);
  const mayOperate = useMay("operator");
  const sentence = task.status === "TimeoutFailed" ? text.timedOutTask : text.failedTask;
  const operations = mayOperate && !isPast && isWhole ? taskOperations({ view, task, topology, text: words }) : [];
  const attempts = rows.filter(({ name }) => name === task.name);
  const isListed = attempts.some(({ bars }) => bars.some(({ failure }) => failure !== undefined));
  return (
    <WhyLine
      status={task.status}
      since={task.endedAt}
      action={<SmallButton label={text.select} onClick={() => onSelect(task.name)} />}
      below={
        isWhole && (
          <>
            {isListed && <AttemptList rows={attempts} />}
            {operations.length > 0 && (
              <div className="panel-actions">
                {operations.map((operation) => (
                  <SmallButton key={operation.key} label={operation.label} onClick={() => onOperation(operation)} />
                ))}
              </div>
            )}
          </>
        )
      }
    >
      <strong>{sentence(task.name, task.attempt)}</strong>
      {task.failure !== undefined && !(isWhole && isListed) && <FailureText failure={task.failure} isOpen={isWhole} />}
    </WhyLine>
  );
}
