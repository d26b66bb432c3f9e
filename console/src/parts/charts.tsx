import { formatClock, formatDuration } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";

export interface StackPart {
  readonly tone: string;
  readonly value: number;
  readonly label: string;
}

interface StackedBarsProps {
  readonly columns: readonly { readonly at: number; readonly parts: readonly StackPart[] }[];
  readonly label: string;
}

const height = 96;

/** Bars of counts over time; failures stand at the bottom, where they are seen first. */
export function StackedBars({ columns, label }: StackedBarsProps) {
  const { zone } = usePreferences();
  const sums = columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const max = Math.max(1, ...sums);
  const step = 100 / Math.max(1, columns.length);
  return (
    <figure className="chart" role="img" aria-label={label}>
      <div className="chart-max quiet">{max}</div>
      <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" height={height}>
        {columns.map(({ at, parts }, number) => {
          let top = height;
          return (
            <g key={at}>
              <title>{`${formatClock(at, zone).slice(0, 5)}  ${parts.map((part) => `${part.label} ${part.value}`).join(", ")}`}</title>
              <rect x={number * step} y={0} width={step} height={height} fill="transparent" />
              {parts.map(({ tone, value }) => {
                const size = value === 0 ? 0 : Math.max(2, (value / max) * (height - 4));
                top -= size;
                return (
                  <rect
                    key={tone}
                    className={`chart-fill tone-${tone}`}
                    x={number * step + step * 0.12}
                    y={top}
                    width={step * 0.76}
                    height={size}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <TimeAxis from={columns[0]?.at} to={columns.at(-1)?.at} />
    </figure>
  );
}

interface LinesProps {
  readonly times: readonly number[];
  readonly lines: readonly {
    readonly name: string;
    readonly values: readonly (number | null)[];
    readonly isMain: boolean;
  }[];
  readonly label: string;
}

/** Durations over time; nothing is drawn where nothing ended. */
export function DurationLines({ times, lines, label }: LinesProps) {
  const max = Math.max(1, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const pointsOf = (values: readonly (number | null)[]): string => {
    const width = Math.max(1, values.length - 1);
    return values
      .flatMap((value, number) => {
        return value === null ? [] : [`${(number / width) * 100},${height - 2 - (value / max) * (height - 8)}`];
      })
      .join(" ");
  };
  return (
    <figure className="chart" role="img" aria-label={label}>
      <div className="chart-max quiet">{formatDuration(max)}</div>
      <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" height={height}>
        {lines.map(({ name, values, isMain }) => (
          <polyline
            key={name}
            className={isMain ? "chart-line" : "chart-line chart-line-quiet"}
            points={pointsOf(values)}
          />
        ))}
      </svg>
      <TimeAxis from={times[0]} to={times.at(-1)} />
      <figcaption className="chart-legend quiet">
        {lines.map(({ name, isMain }) => (
          <span key={name}>
            <i className={isMain ? "" : "legend-quiet"} /> {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function TimeAxis({ from, to }: { readonly from: number | undefined; readonly to: number | undefined }) {
  const { zone } = usePreferences();
  if (from === undefined || to === undefined) return null;
  const middle = from + (to - from) / 2;
  return (
    <div className="chart-axis quiet">
      {[from, middle, to].map((at) => (
        <span key={at}>{formatClock(at, zone).slice(0, 5)}</span>
      ))}
    </div>
  );
}
