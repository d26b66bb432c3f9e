import { Checkbox } from "antd";
import { memo, useCallback, useEffect, useRef, useState } from "react";
import type { InstanceSummary } from "../api/model.ts";
import { stoppedCode } from "../api/waits.ts";
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
import { useRowWindow } from "./use-row-window.ts";

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

const rowHeight = 36;

/** A list of any length: only the rows in sight are in the document. */
export function InstanceTable({ rows, selection, showsWorkflow = true, waits }: InstanceTableProps) {
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
  const body = useRef<HTMLTableSectionElement>(null);
  const { rows: drawn, show } = useRowWindow(body, rows.length, rowHeight);
  const activate = (row: number): void => {
    setActive(row);
    show(row);
  };
  useKeys({
    j: () => activate(Math.min(active + 1, rows.length - 1)),
    k: () => activate(Math.max(active - 1, 0)),
    ...(activeId !== undefined && { Enter: () => navigate(instancePath(activeId)), x: () => toggle(activeId) }),
  });
  return (
    <div className="table-wrap">
      <table className="table instance-table" aria-rowcount={rows.length + 1}>
        <TableHead rows={rows} selection={selection} showsWorkflow={showsWorkflow} />
        <tbody ref={body}>
          <Gap height={drawn.above} />
          {rows.slice(drawn.first, drawn.last).map((row, place) => (
            <InstanceRow
              key={row.instanceId}
              row={row}
              number={drawn.first + place}
              isActive={drawn.first + place === active}
              isSelected={selection?.ids.has(row.instanceId) ?? false}
              onToggle={selection === null ? undefined : onToggle}
              showsWorkflow={showsWorkflow}
              waits={waits?.get(row.instanceId) ?? row}
            />
          ))}
          <Gap height={drawn.below} />
        </tbody>
      </table>
    </div>
  );
}

type HeadProps = Required<Pick<InstanceTableProps, "rows" | "selection" | "showsWorkflow">>;

function TableHead({ rows, selection, showsWorkflow }: HeadProps) {
  const text = useText(instancesText);
  const selectedCount = rows.filter(({ instanceId }) => selection?.ids.has(instanceId)).length;
  return (
    <thead>
      <tr aria-rowindex={1}>
        {selection !== null && (
          <th className="select-column">
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
        <th className="status-column">
          <span className="hide-narrow">{text.status}</span>
        </th>
        {showsWorkflow && <th className="name-column">{text.workflow}</th>}
        <th className={showsWorkflow ? "id-column hide-narrow" : "id-column"}>{text.id}</th>
        <th className="moment-column hide-narrow">{text.created}</th>
        <th className="duration-column number">{text.duration}</th>
        <th className="hide-narrow">{text.why}</th>
      </tr>
    </thead>
  );
}

/** Stands for the rows that are not drawn. */
function Gap({ height }: { readonly height: number }) {
  if (height === 0) return null;
  return (
    <tr aria-hidden="true">
      <td className="row-gap" colSpan={7} style={{ height }} />
    </tr>
  );
}

interface RowProps {
  readonly row: InstanceSummary;
  readonly number: number;
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
  const { row, number, isActive, isSelected, onToggle, showsWorkflow, waits } = props;
  const text = useText(instancesText);
  const why = <Why row={row} waits={waits} />;
  const isSaying = row.quarantined !== null || row.reason !== null || !hasEnded(row.status);
  const needsSomebody = row.quarantined !== null || (!hasEnded(row.status) && stoppedCode(waits.waiting) !== undefined);
  const narrowWhy = isSaying && (
    <span className="narrow-why why-cell" data-failed={row.status === "Failed"}>
      {why}
    </span>
  );
  return (
    <tr aria-selected={isSelected} data-active={isActive} data-row={number} aria-rowindex={number + 2}>
      {onToggle !== undefined && (
        <td>
          <Checkbox
            checked={isSelected}
            onChange={() => onToggle(row.instanceId)}
            aria-label={`${text.select} ${row.instanceId}`}
          />
        </td>
      )}
      <td>
        <span className="narrow-mark">
          <StatusTag status={row.status} attention={needsSomebody} />
        </span>
      </td>
      {showsWorkflow && (
        <td className="name">
          <Link to={workflowPath(row.workflowName)} className="name-text" title={row.workflowName}>
            {row.workflowName}
          </Link>
          <Link to={instancePath(row.instanceId)} className="narrow-id mono link">
            {shortId(row.instanceId)}
          </Link>
          {narrowWhy}
        </td>
      )}
      <td className={showsWorkflow ? "hide-narrow" : ""}>
        <Link to={instancePath(row.instanceId)} className="mono link" title={row.instanceId}>
          {shortId(row.instanceId)}
        </Link>
        {!showsWorkflow && narrowWhy}
      </td>
      <td className="hide-narrow">
        <Moment at={row.createdAt} />
      </td>
      <td className="number">
        <TimeSpan from={row.createdAt} to={row.endedAt} />
      </td>
      <td
        className="hide-narrow ellipsis why-cell"
        data-failed={row.status === "Failed"}
        title={row.reason ?? undefined}
      >
        {why}
      </td>
    </tr>
  );
});
