import { Checkbox, Tooltip } from "antd";
import { useEffect, useState } from "react";
import type { InstanceSummary } from "../api/model.ts";
import { shortId } from "../base/format.ts";
import { instancePath, navigate, workflowPath } from "../base/place.ts";
import { hasEnded } from "../base/status.ts";
import { useWaitSentence } from "../instance/wait-sentence.ts";
import { Link } from "../parts/link.tsx";
import { Moment, TimeSpan } from "../parts/moment.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { useKeys } from "../shell/keys.ts";
import { useText } from "../text/define-text.ts";
import { instancesText } from "../text/instances-text.ts";

interface InstanceTableProps {
  readonly rows: readonly InstanceSummary[];
  /** Null where rows cannot be selected. */
  readonly selection: {
    readonly ids: ReadonlySet<string>;
    readonly onChange: (ids: ReadonlySet<string>) => void;
  } | null;
  readonly showsWorkflow?: boolean;
  /** Rows with newer waits than those of the list. */
  readonly waits?: ReadonlyMap<string, InstanceSummary>;
}

export function InstanceTable({ rows, selection, showsWorkflow = true, waits }: InstanceTableProps) {
  const text = useText(instancesText);
  const [active, setActive] = useState(-1);
  useEffect(() => setActive(-1), [rows.length]);
  const toggle = (id: string): void => {
    if (selection === null) return;
    const ids = new Set(selection.ids);
    if (!ids.delete(id)) ids.add(id);
    selection.onChange(ids);
  };
  const activeId = rows[active]?.instanceId;
  useKeys({
    j: () => setActive(Math.min(active + 1, rows.length - 1)),
    k: () => setActive(Math.max(active - 1, 0)),
    ...(activeId !== undefined && { Enter: () => navigate(instancePath(activeId)), x: () => toggle(activeId) }),
  });
  const selectedCount = rows.filter(({ instanceId }) => selection?.ids.has(instanceId)).length;
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            {selection !== null && (
              <th className="fit">
                <Checkbox
                  aria-label={text.selectAll}
                  checked={selectedCount > 0 && selectedCount === rows.length}
                  indeterminate={selectedCount > 0 && selectedCount < rows.length}
                  onChange={({ target }) =>
                    selection.onChange(new Set(target.checked ? rows.map(({ instanceId }) => instanceId) : []))
                  }
                />
              </th>
            )}
            <th className="fit">{text.status}</th>
            {showsWorkflow && <th>{text.workflow}</th>}
            <th>{text.id}</th>
            <th className="hide-narrow">{text.created}</th>
            <th className="number">{text.duration}</th>
            <th className="hide-narrow">{text.why}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <InstanceRow
              key={row.instanceId}
              row={row}
              isActive={number === active}
              isSelected={selection?.ids.has(row.instanceId) ?? false}
              onToggle={selection === null ? undefined : () => toggle(row.instanceId)}
              showsWorkflow={showsWorkflow}
              waits={waits?.get(row.instanceId) ?? row}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: InstanceSummary;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly onToggle: (() => void) | undefined;
  readonly showsWorkflow: boolean;
  readonly waits: InstanceSummary;
}

/** Why an instance failed, or what it does and waits for. One that succeeded needs no word. */
function useWhy(row: InstanceSummary, waits: InstanceSummary): string {
  const text = useText(instancesText);
  const sentence = useWaitSentence();
  if (row.quarantined !== null) return `${text.quarantined}: ${row.quarantined}`;
  const [first] = waits.waiting ?? [];
  if (hasEnded(row.status) || first === undefined) return row.reason ?? "";
  const more = (waits.waitingTotal ?? 1) - 1;
  return more > 0 ? `${sentence(first)}${text.moreWaits(more)}` : sentence(first);
}

function InstanceRow({ row, isActive, isSelected, onToggle, showsWorkflow, waits }: RowProps) {
  const text = useText(instancesText);
  const why = useWhy(row, waits);
  return (
    <tr aria-selected={isSelected} data-active={isActive}>
      {onToggle !== undefined && (
        <td className="fit">
          <Checkbox checked={isSelected} onChange={onToggle} aria-label={`${text.select} ${row.instanceId}`} />
        </td>
      )}
      <td className="fit">
        <span className="narrow-mark">
          <StatusTag status={row.status} attention={row.quarantined !== null} />
        </span>
      </td>
      {showsWorkflow && (
        <td className="name">
          <Link to={workflowPath(row.workflowName)}>{row.workflowName}</Link>
          {why !== "" && (
            <Link
              className="narrow-why why-cell"
              data-failed={row.status === "Failed"}
              to={instancePath(row.instanceId)}
            >
              {why}
            </Link>
          )}
        </td>
      )}
      <td>
        <Link to={instancePath(row.instanceId)} className="mono link" title={row.instanceId}>
          {shortId(row.instanceId)}
        </Link>
      </td>
      <td className="hide-narrow">
        <Moment at={row.createdAt} />
      </td>
      <td className="number">
        <TimeSpan from={row.createdAt} to={row.endedAt} />
      </td>
      <td className="hide-narrow wide ellipsis why-cell" data-failed={row.status === "Failed"}>
        <Tooltip title={why.length > 60 ? why : ""}>{why}</Tooltip>
      </td>
    </tr>
  );
}
