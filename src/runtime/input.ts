import type { CodeInput } from "../kernel/code/code-input.ts";
import type { DagInput } from "../kernel/dag/dag-input.ts";

/** An input of an instance whose kind the sender may not know; its machine refuses inputs of the other kind. */
export type Input = DagInput | CodeInput;
