import type { TaskView } from "../api/model.ts";
import { formatDuration } from "../base/format.ts";
import { StatusMark } from "../parts/status-tag.tsx";
import type { Row } from "../timeline/attempts.ts";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";

type Failure = NonNullable<TaskView["failure"]>;

/** Every attempt of a task; each that failed has its error, with the stack below it. */
export function AttemptList({ rows }: { readonly rows: readonly Row[] }) {
  const text = useText(instanceText);
  const runs = rows.flatMap(({ bars, generation }) => {
    return bars.filter(({ kind }) => kind === "run").map((bar) => ({ ...bar, generation }));
  });
  const lastFailed = runs.findLastIndex(({ failure }) => failure !== undefined);
  return (
    <ol className="attempts">
      {runs.map((run, number) => (
        <li key={`${run.generation}.${run.attempt}.${run.from}`}>
          <div className="attempt-head">
            <StatusMark status={run.to === undefined ? "Running" : run.status} />
            <span>{text.attemptNumber(run.attempt)}</span>
            <span className="quiet">{run.to === undefined ? "" : formatDuration(run.to - run.from)}</span>
            <span className="quiet attempt-worker" title={run.worker}>
              {run.worker}
            </span>
          </div>
          {run.failure !== undefined && <FailureText failure={run.failure} isOpen={number === lastFailed} />}
        </li>
      ))}
    </ol>
  );
}

/** The message is always read; the stack is one click away, and open for the attempt that decided. */
export function FailureText({ failure, isOpen }: { readonly failure: Failure; readonly isOpen: boolean }) {
  const text = useText(instanceText);
  const { type, message, stack } = failure;
  const frames = framesOf(failure);
  return (
    <div className="failure">
      <p className="failure-message">
        <span className="failure-type">{type}</span> {message}
      </p>
      {stack !== undefined && frames !== "" && (
        <details open={isOpen}>
          <summary>{text.stack}</summary>
          <pre>{frames}</pre>
        </details>
      )}
    </div>
  );
}

/** The stack without its first lines, which repeat type and message. */
function framesOf({ stack = "" }: Failure): string {
  const lines = stack.split("\n");
  const first = lines.findIndex((line) => /^\s*at /.test(line));
  return lines
    .slice(Math.max(first, 0))
    .map((line) => line.replace(/^\s{4}/, ""))
    .join("\n")
    .trimEnd();
}
