import { Input, Select, Switch } from "antd";
import { useEffect, useMemo, useState } from "react";
import type { DataOf } from "../../../src/api/routes.ts";
import { call, namespaceQuery } from "../api/client.ts";
import type { LogLine } from "../api/model.ts";
import { formatClock } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { CopyButton } from "../parts/copy.tsx";
import { EmptyState, Loading, Problem } from "../parts/page.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";

interface LogsTabProps {
  readonly id: string;
  readonly isOver: boolean;
  readonly task: string | undefined;
  readonly onTask: (task: string | undefined) => void;
  readonly taskNames: readonly string[];
}

const pageSize = 1000;
/** Lines that are kept in the page; the server searches all of them. */
const linesMax = 50_000;
const rowHeight = 22;
const levels = ["debug", "info", "warn", "error"] as const;
const toneOfLevel: Readonly<Record<string, string>> = { debug: "off", info: "off", warn: "waiting", error: "failed" };

/** All lines so far, then each as it is written. */
function useLogs(id: string, isOver: boolean) {
  const [lines, setLines] = useState<readonly LogLine[]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    let source: EventSource | undefined;
    const read = async (): Promise<void> => {
      const found: LogLine[] = [];
      for (let after = 0; found.length < linesMax;) {
        const query = { after, limit: pageSize };
        const page = await call("getLogs", { params: { id }, query, signal: stop.signal });
        found.push(...page.items);
        setLines([...found]);
        if (page.next === null) break;
        after = Number(page.next);
      }
      if (!isOver && !stop.signal.aborted) source = follow(id, found.at(-1)?.number ?? 0, setLines);
    };
    read().catch((problem: unknown) => {
      if (!stop.signal.aborted) setError(problem);
    });
    return () => {
      stop.abort();
      source?.close();
    };
  }, [id, isOver]);
  return { lines, error };
}

interface LogSearch {
  readonly search: string;
  readonly level: string;
  readonly task: string | undefined;
}

const searchDelayMs = 250;
const hitsMax = 5000;

/** The lines of the whole log that match, as the server finds them; none before it has answered. */
function useFound(id: string, { search, level, task }: LogSearch) {
  const [found, setFound] = useState<readonly LogLine[]>([]);
  const [searchError, setSearchError] = useState<unknown>();
  useEffect(() => {
    setFound([]);
    setSearchError(undefined);
    if (search === "" && level === "" && task === undefined) return undefined;
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      const hits: LogLine[] = [];
      for (let after: string | null = "0"; after !== null && hits.length < hitsMax;) {
        const query = {
          after: Number(after),
          limit: pageSize,
          ...(search !== "" && { search }),
          ...(level !== "" && { level: level as LogLine["level"] }),
          ...(task !== undefined && { task }),
        };
        const page: DataOf<"getLogs"> = await call("getLogs", { params: { id }, query, signal: stop.signal });
        hits.push(...page.items);
        setFound([...hits]);
        after = page.next;
      }
    };
    const timer = setTimeout(() => {
      read().catch((problem: unknown) => {
        if (!stop.signal.aborted) setSearchError(problem);
      });
    }, searchDelayMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id, search, level, task]);
  return { found, searchError };
}

function follow(
  id: string,
  after: number,
  setLines: (change: (lines: readonly LogLine[] | undefined) => readonly LogLine[]) => void,
): EventSource {
  const query = new URLSearchParams({ after: String(after), ...namespaceQuery() });
  const source = new EventSource(`/api/instance/${encodeURIComponent(id)}/logs/stream?${query}`);
  source.addEventListener("line", (event: MessageEvent<string>) => {
    const line = JSON.parse(event.data) as LogLine;
    setLines((lines = []) => ((lines.at(-1)?.number ?? 0) >= line.number ? lines : [...lines, line]));
  });
  return source;
}

/** The lines in the page that match, with those that the server found. */
function useShown(
  lines: readonly LogLine[] | undefined,
  found: readonly LogLine[],
  { search, level, task }: LogSearch,
): readonly LogLine[] {
  return useMemo(() => {
    const least = levels.indexOf(level as (typeof levels)[number]);
    const matching = (lines ?? []).filter((line) => {
      if (task !== undefined && line.taskName !== task) return false;
      if (levels.indexOf(line.level) < least) return false;
      return search === "" || searchedText(line).toLowerCase().includes(search);
    });
    if (found.length === 0) return matching;
    const byNumber = new Map([...found, ...matching].map((line) => [line.number, line]));
    return [...byNumber.values()].toSorted((a, b) => a.number - b.number);
  }, [lines, found, search, level, task]);
}

export function LogsTab({ id, isOver, task, onTask, taskNames }: LogsTabProps) {
  const text = useText(instanceText);
  const { zone } = usePreferences();
  const { lines, error } = useLogs(id, isOver);
  const [wanted, setWanted] = useState("");
  const [level, setLevel] = useState("");
  const [follows, setFollows] = useState(true);
  const search = wanted.trim().slice(0, 200).toLowerCase();
  const { found, searchError } = useFound(id, { search, level, task });
  const shown = useShown(lines, found, { search, level, task });
  if (error !== undefined) return <Problem error={error} />;
  if (lines === undefined) return <Loading />;
  const taskOptions = [{ value: "", label: text.allTasks }, ...taskNames.map((name) => ({ value: name, label: name }))];
  const levelOptions = [{ value: "", label: text.allLevels }, ...levels.map((each) => ({ value: each, label: each }))];
  return (
    <div className="tab-fill">
      <div className="tab-tools">
        <Input.Search
          size="small"
          allowClear
          placeholder={text.findLog}
          aria-label={text.findLog}
          onChange={(event) => setWanted(event.target.value)}
        />
        <Select
          size="small"
          showSearch
          value={task ?? ""}
          options={taskOptions}
          aria-label={text.task}
          popupMatchSelectWidth={false}
          onChange={(name) => onTask(name === "" ? undefined : name)}
        />
        <Select size="small" value={level} options={levelOptions} onChange={setLevel} aria-label={text.allLevels} />
        <label className="inline-field">
          <Switch size="small" checked={follows} onChange={setFollows} aria-label={text.follow} /> {text.follow}
        </label>
        <span className="quiet small">{text.lines(shown.length)}</span>
        <CopyButton
          value={shown.map((line) => `${formatClock(line.at, zone)} ${textOf(line)}`).join("\n")}
          label={text.copyLogs}
        />
      </div>
      {searchError !== undefined && <Problem error={searchError} />}
      {shown.length === 0 && (
        <EmptyState title={lines.length === 0 ? text.noLogs : text.noHits} icon="audit">
          {lines.length === 0 && <p>{text.noLogsHint}</p>}
        </EmptyState>
      )}
      <VirtualRows
        count={shown.length}
        rowHeight={rowHeight}
        label={text.logs}
        className="fill logs"
        followsEnd={follows}
      >
        {(row) => {
          const line = shown[row];
          return line === undefined ? null : <LogRow key={line.number} line={line} />;
        }}
      </VirtualRows>
    </div>
  );
}

function LogRow({ line }: { readonly line: LogLine }) {
  const { zone } = usePreferences();
  return (
    <div className={`log-row tone-${toneOfLevel[line.level] ?? "off"}`}>
      <span className="quiet">{formatClock(line.at, zone)}</span>
      <span className="log-level">{line.level}</span>
      <span className="log-task" title={line.taskName}>
        {line.taskName}
        {line.attempt > 1 && ` ×${line.attempt}`}
      </span>
      <span className="log-message">
        {line.message} <span className="quiet">{fieldsOf(line)}</span>
      </span>
    </div>
  );
}

function fieldsOf({ fields }: LogLine): string {
  const entries = Object.entries(fields);
  return entries.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
}

/** The text that a search looks at, as on the server. */
function searchedText({ taskName, message, fields }: LogLine): string {
  return `${taskName} ${message} ${JSON.stringify(fields)}`;
}

function textOf(line: LogLine): string {
  return `${line.level} ${line.taskName} ${line.message} ${fieldsOf(line)}`;
}
