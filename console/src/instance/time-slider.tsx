import { Tooltip } from "antd";
import { useEffect, useState } from "react";
import type { HistoryTurn } from "../api/model.ts";
import { formatClock } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useKeys } from "../shell/keys.ts";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import type { Mark } from "../timeline/attempts.ts";

interface TimeSliderProps {
  readonly turns: readonly HistoryTurn[];
  readonly marks: readonly Mark[];
  /** Place of the turn that is shown; undefined for now. */
  readonly place: number | undefined;
  readonly onTravel: (place: number | undefined) => void;
}

const stepMs = 350;
const toneOfMark: Readonly<Record<Mark["kind"], string>> = {
  failed: "failed",
  retry: "waiting",
  paused: "paused",
  resumed: "paused",
  event: "running",
  reopened: "paused",
  ended: "stopped",
};

/** A slider over the history: the page shows the instance as it was at that moment. */
export function TimeSlider({ turns, marks, place, onTravel }: TimeSliderProps) {
  const text = useText(instanceText);
  const { zone } = usePreferences();
  const [isPlaying, setPlaying] = useState(false);
  const last = turns.length - 1;
  const shown = place ?? last;
  const go = (to: number): void => onTravel(to >= last ? undefined : Math.max(0, to));
  const nextMark = (sign: 1 | -1): void => {
    const places = marks.map(({ turn }) => turns.findIndex((each) => each.turn === turn));
    const found = sign === 1 ? places.find((at) => at > shown) : places.findLast((at) => at < shown);
    if (found !== undefined && found >= 0) go(found);
  };
  useKeys({
    ArrowLeft: (event) => (event.shiftKey ? nextMark(-1) : go(shown - 1)),
    ArrowRight: (event) => (event.shiftKey ? nextMark(1) : go(shown + 1)),
  });
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (shown >= last) {
      setPlaying(false);
      return undefined;
    }
    // Idle time is left out: every turn takes as long.
    const timer = setTimeout(() => onTravel(shown + 1), stepMs);
    return () => clearTimeout(timer);
  }, [isPlaying, shown, last, onTravel]);
  if (turns.length < 2) return null;
  const turn = turns[shown];
  const play = (): void => {
    if (!isPlaying && shown >= last) onTravel(0);
    setPlaying(!isPlaying);
  };
  return (
    <div className="slider">
      <SliderButton icon="left" label={text.previous} onClick={() => go(shown - 1)} />
      <SliderButton icon={isPlaying ? "pause" : "play"} label={isPlaying ? text.pausePlay : text.play} onClick={play} />
      <SliderButton icon="right" label={text.next} onClick={() => go(shown + 1)} />
      <div className="slider-track">
        {marks.slice(0, 400).map((mark, number) => {
          const at = turns.findIndex((each) => each.turn === mark.turn);
          return (
            <i
              key={number}
              className={`slider-mark tone-${toneOfMark[mark.kind]}`}
              style={{ left: `${(Math.max(0, at) / Math.max(1, last)) * 100}%` }}
            />
          );
        })}
        <input
          type="range"
          min={0}
          max={last}
          value={shown}
          aria-label={text.slider}
          onChange={(event) => go(Number(event.target.value))}
        />
      </div>
      <span className="slider-time mono">{turn === undefined ? "" : formatClock(turn.at, zone)}</span>
      <button type="button" className="chip" aria-pressed={place === undefined} onClick={() => onTravel(undefined)}>
        {text.live}
      </button>
    </div>
  );
}

interface ButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
}

function SliderButton({ icon, label, onClick }: ButtonProps) {
  return (
    <Tooltip title={label}>
      <button type="button" className="copy-button" aria-label={label} onClick={onClick}>
        <Icon name={icon} size={14} />
      </button>
    </Tooltip>
  );
}
