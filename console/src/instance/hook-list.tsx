import { TimeSpan } from "../parts/moment.tsx";
import { StatusMark } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import type { ItemPage } from "./use-items.ts";

/** The jobs that run once: before and after the workers of a broadcast, and the reduce of a map. */
export function HookList({ hooks }: Pick<ItemPage, "hooks">) {
  const text = useText(instanceText);
  const names = { before: text.hookBefore, source: text.hookSource, after: text.hookAfter, reduce: text.hookReduce };
  if (hooks.length === 0) return null;
  return (
    <ul className="hooks" aria-label={text.hooks}>
      {hooks.map(({ name, status, startedAt, endedAt, worker, failure }) => (
        <li key={name}>
          <StatusMark status={status} />
          <b>{names[name]}</b>
          <span className="quiet">
            <TimeSpan from={startedAt} to={endedAt} runs={status === "Running"} />
          </span>
          <span className="quiet ellipsis">{worker}</span>
          {failure !== undefined && <span className="hook-failure">{failure.message}</span>}
        </li>
      ))}
    </ul>
  );
}
