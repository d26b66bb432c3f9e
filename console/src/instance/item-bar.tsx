import type { TaskView } from "../api/model.ts";
import { formatCount } from "../base/format.ts";
import { toneOf } from "../base/status.ts";
import { itemStatuses } from "../graph/task-detail.ts";
import { useStatusWord } from "../parts/status-tag.tsx";

interface ItemBarProps {
  readonly items: NonNullable<TaskView["items"]>;
  /** The status whose items are listed; with `onChoose` the counts are buttons. */
  readonly chosen?: string | undefined;
  readonly onChoose?: (status: string | undefined) => void;
}

/** The items of a map, or the workers of a broadcast, by status: a bar of their shares, and their counts. */
export function ItemBar({ items, chosen, onChoose }: ItemBarProps) {
  const word = useStatusWord();
  const counts = Object.entries(itemStatuses(items)).filter(([, count]) => count > 0);
  const countOf = (status: string, count: number): string => `${word(status)} ${formatCount(count)}`;
  return (
    <div className="item-bar">
      <div className="item-shares" aria-hidden="true">
        {counts.map(([status, count]) => (
          <i key={status} className={`tone-${toneOf(status)}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <div className="chips">
        {counts.map(([status, count]) =>
          onChoose === undefined ? (
            <span key={status} className={`item-count tone-${toneOf(status)}`}>
              {countOf(status, count)}
            </span>
          ) : (
            <button
              key={status}
              type="button"
              className={`chip tone-${toneOf(status)}`}
              aria-pressed={chosen === status}
              onClick={() => onChoose(chosen === status ? undefined : status)}
            >
              {countOf(status, count)}
            </button>
          ),
        )}
      </div>
    </div>
  );
}
