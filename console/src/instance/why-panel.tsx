import { Button } from "antd";
import type { ReactNode } from "react";
import { useMay } from "../api/session-context.ts";
import type { InstanceView, TaskView } from "../api/model.ts";
import type { Wait } from "../api/waits.ts";
import { formatRunning, formatTime } from "../base/format.ts";
import { instancePath, navigate } from "../base/place.ts";
import { usePreferences } from "../base/preferences.ts";
import { useNow } from "../base/server-clock.ts";
import { hasEnded, toneOf } from "../base/status.ts";
import { Icon } from "../parts/icon.tsx";
import { Moment } from "../parts/moment.tsx";
import { StatusMark } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { operationText } from "../text/operation-text.ts";
import { whyText } from "../text/why-text.ts";
import type { Operation } from "./operation-dialog.tsx";
import { eventOperation } from "./operations.ts";

interface WhyPanelProps {
  readonly view: InstanceView;
  readonly isPast: boolean;
  readonly onSelect: (task: string) => void;
  readonly onOperation: (operation: Operation) => void;
}

const shownMax = 8;

/** Says why an instance waits, failed or ended: a sentence, since when, and what can be done. */
export function WhyPanel({ view, isPast, onSelect, onOperation }: WhyPanelProps) {
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
          </div>
        </div>
      )}
      {isOver ? (
        <Ended view={view} onSelect={onSelect} />
      ) : (
        <Waits view={view} isPast={isPast} onSelect={onSelect} onOperation={onOperation} />
      )}
    </section>
  );
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
  readonly children: ReactNode;
}

function WhyLine({ status, since, action, children }: LineProps) {
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

function Waits({ view, isPast, onSelect, onOperation }: WhyPanelProps) {
  const text = useText(whyText);
  const words = useText(operationText);
  const mayOperate = useMay("operator");
  const { waiting: waits, waitingTotal, untakenEvents: untaken } = view;
  const shown = waits.slice(0, shownMax);
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
        <WaitLine key={number} wait={wait} onSelect={onSelect} raise={raise} />
      ))}
      {untaken.map(({ name, count, since }) => (
        <WhyLine key={name} status="Skipped" since={since}>
          {text.untaken(name, count)}
        </WhyLine>
      ))}
      {waitingTotal > shownMax && <li className="quiet small">{text.more(waitingTotal - shownMax)}</li>}
      {waits.length === 0 && view.status === "Running" && (
        <li className="quiet">{isPast ? text.past : text.nothing}</li>
      )}
    </ul>
  );
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
  readonly onSelect: (task: string) => void;
  readonly raise: (name: string) => ReactNode;
}

function WaitLine({ wait, onSelect, raise }: WaitLineProps) {
  const text = useText(whyText);
  const now = useNow();
  const { zone } = usePreferences();
  const place =
    !("line" in wait) || wait.line === undefined ? null : (
      <code className="small">{text.codeLine(wait.line.file, wait.line.line)}</code>
    );
  const until = (at: number): string => formatRunning(Math.max(0, at - now));
  switch (wait.kind) {
    case "timer":
      return (
        <WhyLine status="Pending" since={wait.since}>
          {text.timer(formatTime(wait.dueAt, zone, now), until(wait.dueAt))} {place}
        </WhyLine>
      );
    case "event":
      return (
        <WhyLine status="Pending" since={wait.since} action={raise(wait.name)}>
          {text.event(wait.name)}
          {wait.dueAt !== undefined && text.eventUntil(formatTime(wait.dueAt, zone, now))} {place}
        </WhyLine>
      );
    case "update":
      return (
        <WhyLine status="Pending" since={wait.since}>
          {text.update(wait.name)}
        </WhyLine>
      );
    case "child": {
      const { childInstanceId: child } = wait;
      const open =
        child === undefined ? null : <SmallButton label={text.open} onClick={() => navigate(instancePath(child))} />;
      return (
        <WhyLine status="Running" since={wait.since} action={open}>
          {text.child(wait.taskName)} {place}
        </WhyLine>
      );
    }
    case "instance":
      return (
        <WhyLine status={wait.reason === "paused" ? "Paused" : "Ready"} since={wait.since}>
          {wait.by === undefined ? text.instance(wait.text) : text.pausedBy(wait.by)}
          {wait.note !== undefined && `: “${wait.note}”`}
        </WhyLine>
      );
    default:
      return <TaskWaitLine wait={wait} onSelect={onSelect} until={until} />;
  }
}

interface TaskWaitProps {
  readonly wait: Extract<Wait, { kind: "task" }>;
  readonly onSelect: (task: string) => void;
  readonly until: (at: number) => string;
}

function TaskWaitLine({ wait, onSelect, until }: TaskWaitProps) {
  const text = useText(whyText);
  const mayOperate = useMay("operator");
  const { taskName: task, reason, slots, max, retryAt, attempt } = wait;
  const select = <SmallButton label={text.select} onClick={() => onSelect(task)} />;
  if (reason === "running") {
    return (
      <WhyLine status="Running" since={wait.since} action={select}>
        {text.running(task, attempt)}
      </WhyLine>
    );
  }
  if (reason === "retry" && retryAt !== undefined) {
    return (
      <WhyLine status="Failed" since={wait.since} action={select}>
        {text.retry(task, attempt, until(retryAt))}
      </WhyLine>
    );
  }
  if ((reason === "domain" || reason === "slot") && slots !== undefined) {
    const resize = <SmallButton label={text.resize} onClick={() => navigate("/domains")} />;
    return (
      <WhyLine status="Pending" since={wait.since} action={mayOperate ? resize : select}>
        {text.domain(task, slots.domain, slots.running, slots.size, slots.waiting)}
      </WhyLine>
    );
  }
  if (reason === "no-worker") {
    const workers = <SmallButton label={text.workers} onClick={() => navigate("/workers")} />;
    return (
      <WhyLine status="Pending" since={wait.since} action={workers}>
        {text.noWorker(task, wait.text)}
      </WhyLine>
    );
  }
  return (
    <WhyLine status="Pending" since={wait.since} action={select}>
      {reason === "instance-limit" && max !== undefined ? text.limit(task, max) : text.other(task, wait.text)}
    </WhyLine>
  );
}

function Ended({ view, onSelect }: Pick<WhyPanelProps, "view" | "onSelect">) {
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
        <FailedTask key={task.name} task={task} onSelect={onSelect} />
      ))}
      {failed.length > shownMax && <li className="quiet small">{text.more(failed.length - shownMax)}</li>}
      {notRun > 0 && <li className="quiet small">{text.notRun(notRun)}</li>}
    </ul>
  );
}

function FailedTask({ task, onSelect }: { readonly task: TaskView; readonly onSelect: (task: string) => void }) {
  const text = useText(whyText);
  const sentence = task.status === "TimeoutFailed" ? text.timedOutTask : text.failedTask;
  return (
    <WhyLine
      status={task.status}
      since={task.endedAt}
      action={<SmallButton label={text.select} onClick={() => onSelect(task.name)} />}
    >
      <strong>{sentence(task.name, task.attempt)}</strong>
      {task.failure !== undefined && <pre className="failure-text">{task.failure.message}</pre>}
    </WhyLine>
  );
}
