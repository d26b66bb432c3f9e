import { Checkbox } from "antd";
import { memo, useCallback, useEffect, useRef, useState } from "react";
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
  const latest = useRef(toggle);
  latest.current = toggle;
  // The same function at each drawing: rows that did not change are not drawn again.
  const onToggle = useCallback((id: string) => latest.current(id), []);
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
              onToggle={selection === null ? undefined : onToggle}
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
  readonly onToggle: ((id: string) => void) | undefined;
  readonly showsWorkflow: boolean;
  readonly waits: InstanceSummary;
}

/** Why an instance failed, or what it does and waits for. One that succeeded needs no word. */
function Why({ row, waits }: { readonly row: InstanceSummary; readonly waits: InstanceSummary }) {
  const text = useText(instancesText);
  const isWaiting = row.quarantined === null && !hasEnded(row.status) && waits.waiting?.[0] !== undefined;
  if (isWaiting) return <WaitText waits={waits} />;
  return row.quarantined === null ? row.reason : `${text.quarantined}: ${row.quarantined}`;
}

/** Follows the clock, which the other rows need not. */
function WaitText({ waits }: { readonly waits: InstanceSummary }) {
  const text = useText(instancesText);
  const sentence = useWaitSentence();
  const [first] = waits.waiting ?? [];
  const more = (waits.waitingTotal ?? 1) - 1;
  if (first === undefined) return null;
  return more > 0 ? `${sentence(first)}${text.moreWaits(more)}` : sentence(first);
}

const InstanceRow = memo(function InstanceRow(props: RowProps) {
  const { row, isActive, isSelected, onToggle, showsWorkflow, waits } = props;
  const text = useText(instancesText);
  const why = <Why row={row} waits={waits} />;
  const isSaying = row.quarantined !== null || row.reason !== null || !hasEnded(row.status);
  return (
    <tr aria-selected={isSelected} data-active={isActive}>
      {onToggle !== undefined && (
        <td className="fit">
          <Checkbox
            checked={isSelected}
            onChange={() => onToggle(row.instanceId)}
            aria-label={`${text.select} ${row.instanceId}`}
          />
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
          {isSaying && (
            <span className="narrow-why why-cell" data-failed={row.status === "Failed"}>
              {why}
            </span>
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
      <td
        className="hide-narrow wide ellipsis why-cell"
        data-failed={row.status === "Failed"}
        title={row.reason ?? undefined}
      >
        {why}
      </td>
    </tr>
  );
});
