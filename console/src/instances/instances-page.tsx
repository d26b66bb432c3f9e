import { useQuery } from "@tanstack/react-query";
import { Button, Input, Select, Switch, Tag } from "antd";
import { useEffect, useState } from "react";
import { call } from "../api/client.ts";
import { useMay } from "../api/session-context.ts";
import { formatDate, type Zone } from "../base/format.ts";
import { changeQuery, navigate, usePlace } from "../base/place.ts";
import { usePreferences } from "../base/preferences.ts";
import { serverNow } from "../base/server-clock.ts";
import { toneOf } from "../base/status.ts";
import { Card, EmptyState, Loading, PageHead, Problem } from "../parts/page.tsx";
import { useStatusWord } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { instancesText } from "../text/instances-text.ts";
import { BulkAll } from "./bulk-all.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { InstanceTable } from "./instance-table.tsx";
import { ListFoot } from "./list-foot.tsx";
import { useInstances, useWaits } from "./use-instances.ts";

const statuses = ["Running", "Ready", "Paused", "Failed", "Terminated", "Success"] as const;
const spans: Readonly<Record<string, number>> = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 };
const noIds: ReadonlySet<string> = new Set();

export function InstancesPage() {
  const text = useText(instancesText);
  const { query } = usePlace();
  const mayOperate = useMay("operator");
  const [ids, setIds] = useState(noIds);
  const range = query.get("range") ?? "";
  const [openedAt, setOpenedAt] = useState(serverNow);
  useEffect(() => setOpenedAt(serverNow()), [range]);
  const span = spans[range];
  const filter = {
    status: query.get("status") ?? undefined,
    workflow: query.get("workflow") ?? undefined,
    idPrefix: query.get("q") ?? undefined,
    createdFrom: span === undefined ? momentOf(query.get("from")) : Math.floor(openedAt - span),
    createdTo: momentOf(query.get("to")),
  };
  const waits = useWaits(filter);
  const { list, rows, freshCount, refresh } = useInstances(filter, query.get("system") !== null);
  const isFiltered = [...query.keys()].length > 0;
  const chosen = rows.filter(({ instanceId }) => ids.has(instanceId));
  return (
    <>
      <PageHead
        title={text.title}
        actions={
          <>
            {freshCount > 0 && (
              <Button onClick={refresh} type="primary">
                {text.fresh(freshCount)}
              </Button>
            )}
            {mayOperate && rows.length > 0 && <BulkAll filter={filter} onDone={refresh} />}
          </>
        }
      />
      <Filters />
      {list.error !== null && <Problem error={list.error} onRetry={refresh} />}
      <Card flush>
        {list.data === undefined && list.error === null && <Loading rows={12} />}
        {rows.length > 0 && (
          <InstanceTable rows={rows} waits={waits} selection={mayOperate ? { ids, onChange: setIds } : null} />
        )}
        {list.data !== undefined && rows.length === 0 && (isFiltered ? <NoHits /> : <NoInstances />)}
        {rows.length > 0 && <ListFoot list={list} rows={rows} />}
      </Card>
      <BulkBar rows={chosen} onDone={refresh} onClear={() => setIds(noIds)} />
    </>
  );
}

/** A moment of the address, such as 2026-03-02T00:00:00Z. */
function momentOf(text: string | null): number | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : at;
}

function NoHits() {
  const text = useText(instancesText);
  return (
    <EmptyState title={text.noHits} icon="filter">
      <Button onClick={() => navigate("/instances")}>{text.clear}</Button>
    </EmptyState>
  );
}

function NoInstances() {
  const text = useText(instancesText);
  return (
    <EmptyState title={text.empty} icon="instances" command="npx heddle run example-report">
      <p>{text.emptyHint}</p>
    </EmptyState>
  );
}

function Filters() {
  const text = useText(instancesText);
  const { query } = usePlace();
  const workflows = useQuery({
    queryKey: ["workflow-names"],
    queryFn: () => call("listWorkflows", { query: { limit: 1000 } }),
    staleTime: 30_000,
  });
  const { zone } = usePreferences();
  const [from, to] = [query.get("from"), query.get("to")];
  const names = (workflows.data?.items ?? []).map(({ name }) => ({ value: name, label: name }));
  return (
    <div className="filters">
      <Input.Search
        className="grow"
        allowClear
        defaultValue={query.get("q") ?? ""}
        key={query.get("q")}
        placeholder={text.idPrefix}
        aria-label={text.idPrefix}
        onSearch={(value) => changeQuery({ q: value.trim() })}
      />
      <Select
        className="filter-select"
        showSearch
        allowClear
        value={query.get("workflow")}
        options={names}
        placeholder={text.anyWorkflow}
        aria-label={text.workflow}
        popupMatchSelectWidth={false}
        onChange={(name: string | undefined) => changeQuery({ workflow: name })}
      />
      <Select
        className="filter-select"
        value={query.get("range") ?? ""}
        aria-label={text.range}
        options={[
          { value: "", label: text.anyTime },
          { value: "1h", label: text.hour },
          { value: "24h", label: text.day },
          { value: "7d", label: text.week },
        ]}
        onChange={(chosen: string) => changeQuery({ range: chosen, from: undefined, to: undefined })}
      />
      {from !== null && to !== null && (
        <Tag closable onClose={() => changeQuery({ from: undefined, to: undefined })}>
          {spanText(from, to, zone)}
        </Tag>
      )}
      <StatusChips />
      <label className="inline-field quiet">
        <Switch
          size="small"
          checked={query.get("system") !== null}
          aria-label={text.system}
          onChange={(isOn) => changeQuery({ system: isOn ? "1" : undefined })}
        />
        {text.system}
      </label>
    </div>
  );
}

/** The one day that the address names, or both ends. */
function spanText(from: string, to: string, zone: Zone): string {
  const [first, last] = [momentOf(from), momentOf(to)];
  if (first === undefined || last === undefined) return `${from} – ${to}`;
  const ends = [formatDate(first, zone), formatDate(last, zone)];
  return [...new Set(ends)].join(" – ");
}

function StatusChips() {
  const text = useText(instancesText);
  const word = useStatusWord();
  const { query } = usePlace();
  const chosen = (query.get("status") ?? "").split(",").filter((status) => status !== "");
  const toggle = (status: string): void => {
    const next = chosen.includes(status) ? chosen.filter((each) => each !== status) : [...chosen, status];
    changeQuery({ status: next.join(",") });
  };
  return (
    <div className="chips" role="group" aria-label={text.status}>
      {statuses.map((status) => (
        <button
          key={status}
          type="button"
          className={`chip tone-${toneOf(status)}`}
          aria-pressed={chosen.includes(status)}
          onClick={() => toggle(status)}
        >
          {word(status)}
        </button>
      ))}
    </div>
  );
}
