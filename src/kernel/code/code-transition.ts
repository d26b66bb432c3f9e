import type { Transition } from "../transition.ts";
import type { CodeState } from "./code-state.ts";

/** One message on its way through an instance of code. */
export type CodeTransition = Transition<CodeState>;
