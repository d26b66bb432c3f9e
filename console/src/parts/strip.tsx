import type { InstanceSummary } from "../api/model.ts";
import { formatDuration } from "../base/format.ts";
import { instancePath } from "../base/place.ts";
import { toneOf } from "../base/status.ts";
import { Link } from "./link.tsx";
import { useStatusWord } from "./status-tag.tsx";

interface StripProps {
  /** Newest first, as lists are. */
  readonly runs: readonly InstanceSummary[];
  readonly max?: number;
}

const heightMin = 5;
const heightMax = 20;

/** The last runs, oldest at the left: colour is the status, height the duration. */
export function Strip({ runs, max = 30 }: StripProps) {
  const word = useStatusWord();
  const shown = runs.slice(0, max).toReversed();
  const longest = Math.max(1, ...shown.map(({ createdAt, endedAt }) => (endedAt ?? createdAt) - createdAt));
  return (
    <span className="strip">
      {shown.map(({ instanceId, status, createdAt, endedAt }) => {
        const spentMs = (endedAt ?? createdAt) - createdAt;
        const label = `${word(status)} ${endedAt === null ? "" : formatDuration(spentMs)}`;
        const height = heightMin + Math.sqrt(spentMs / longest) * (heightMax - heightMin);
        return (
          <Link
            key={instanceId}
            to={instancePath(instanceId)}
            className={`tone-${toneOf(status)}`}
            title={label}
            aria-label={label}
            style={{ height: endedAt === null ? heightMax : height }}
          />
        );
      })}
    </span>
  );
}
