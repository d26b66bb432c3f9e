import type { BenchStorage } from "./storages/bench-storage.ts";

/** One line of the result. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the driver alone takes for the same rows, in the same unit. */
  readonly ceiling: number;
  /** `value / ceiling`. */
  readonly ratio: number;
  /** What is to be reached, in words. */
  readonly target: string;
  readonly met: boolean;
  /** What else is worth knowing. */
  readonly notes: Readonly<Record<string, number>>;
}

export interface Settings {
  readonly storage: BenchStorage;
  /** A figure is the median of so many runs; where one run is short, of a multiple of them. */
  readonly runs: number;
  /** Less warming up: the whole must be over in a minute, also on a busy machine. */
  readonly quick: boolean;
}

export type Benchmark = (settings: Settings) => Promise<Figure[]>;

export interface Goal {
  readonly target: string;
  readonly isMet: (value: number, ratio: number) => boolean;
}

/** For a figure that only stands beside another. */
export const noGoal: Goal = { target: "", isMet: () => true };

export function figure(
  name: string,
  measured: { value: number; ceiling: number; unit: string },
  goal: Goal,
  notes: Readonly<Record<string, number>> = {},
): Figure {
  const { value, ceiling, unit } = measured;
  const ratio = value / ceiling;
  return { name, value, unit, ceiling, ratio, target: goal.target, met: goal.isMet(value, ratio), notes };
}
