import type { Evidence } from "../evidence.ts";

/** Returns the violations as text. */
export type Checker = (evidence: Evidence) => string[];

/** A checker that waits for code that it runs. */
export type AsyncChecker = (evidence: Evidence) => Promise<string[]>;
