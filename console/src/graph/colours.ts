import type { Tone } from "../base/status.ts";

/** The style sheet's colours for drawings: one palette for everything. */
export interface Colours {
  readonly page: string;
  readonly card: string;
  readonly raised: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly text: string;
  readonly quiet: string;
  readonly focus: string;
  readonly ink: Readonly<Record<Tone, string>>;
  readonly fill: Readonly<Record<Tone, string>>;
}

const tones: readonly Tone[] = ["waiting", "running", "success", "failed", "paused", "stopped", "off"];

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  const byTone = (suffix: string): Record<Tone, string> =>
    Object.fromEntries(tones.map((tone) => [tone, of(`--${tone}${suffix}`)])) as Record<Tone, string>;
  return {
    page: of("--page"),
    card: of("--card"),
    raised: of("--raised"),
    line: of("--line"),
    lineStrong: of("--line-strong"),
    text: of("--text"),
    quiet: of("--quiet"),
    focus: of("--focus"),
    ink: byTone(""),
    fill: byTone("-fill"),
  };
}
