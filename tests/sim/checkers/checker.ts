import type { Evidence } from "../evidence.ts";

/** Gives back what is wrong, in words; nothing, if all is well. */
export type Checker = (evidence: Evidence) => string[];

/** One that has to wait for code that it runs. */
export type AsyncChecker = (evidence: Evidence) => Promise<string[]>;
