import { isCodeWorkflow } from "../../src/authoring/code-workflow.ts";
import type { SimRandom } from "./sim-random.ts";
import { type CodeKind, codeKinds, drawCodeShape } from "./code-shapes.ts";
import { type Act, type AnyScenario, drawInterference, drawLooks } from "./workload.ts";

/** The first number of code scenarios. */
const firstNumber = 100;

/** Draws scenarios of workflows that are code, or contain code. Deterministic for a random source. */
export function drawCodeScenarios(
  random: SimRandom,
  options: { readonly domains: readonly string[]; readonly spanMs: number; readonly kinds?: readonly CodeKind[] },
): AnyScenario[] {
  const { domains, spanMs, kinds = codeKinds } = options;
  return Array.from({ length: random.whole(2, 7) }, (_, place) => {
    const number = firstNumber + place;
    const own = random.fork(`scenario ${number}`);
    return drawScenario(own, number, { kind: own.pick(kinds), domains, spanMs });
  });
}

function drawScenario(
  random: SimRandom,
  number: number,
  { kind, domains, spanMs }: { kind: CodeKind; domains: readonly string[]; spanMs: number },
): AnyScenario {
  const { workflow, status, outputs, params, script, mayTimeOut } = drawCodeShape(kind, { random, domains, tags: [] });
  const drawn = drawActs(random, isCodeWorkflow(workflow));
  // A child that its parent leaves while both are paused would wait for a resume.
  const acts = kind.endsWith("household") ? drawn.filter(({ what }) => what !== "pause") : drawn;
  // Without an id, a start that is tried again leaves an instance behind that no client cancels. The jobs of the children
  // of such a household would keep all slots for ever.
  const needsId = kind === "code-household" && script === "cancel";
  const instanceId = random.isLucky(0.7) || needsId ? `w${number}-${kind}` : undefined;
  const isSignaled = kind === "code-inbox" && instanceId !== undefined && random.isLucky(0.5);
  const isCanceled = script === "cancel-undoing" || acts.some(({ what }) => what === "cancel");
  const isEnded = isSignaled || isCanceled || acts.some(({ what }) => what === "terminate");
  // It fails at first: a purge and a retry come at the same time, instead of a retry alone.
  const isContested = kind === "code-retried" && !isEnded && random.fork("contest").isLucky(0.5);
  return {
    number,
    workflow,
    instanceId,
    isSignaled,
    params: { ...params, origin: number },
    maxConcurrentTasks: undefined,
    submitAt: random.within(0, spanMs),
    acts,
    script: isContested ? undefined : script,
    // A late signal may start another instance that no client knows of.
    ends: [
      status,
      ...(isEnded ? ["Terminated" as const] : []),
      ...(mayTimeOut || isContested ? ["Failed" as const] : []),
    ],
    outputs,
    afterlife: isContested ? "contested" : isEnded ? "none" : drawAfterlife(random, kind),
  };
}

/** Kinds with one instance each, which ends without clients and has the same result when it runs again. */
const plainKinds: readonly CodeKind[] = ["code-steps", "code-fan", "code-sleeper"];

function drawAfterlife(random: SimRandom, kind: CodeKind): AnyScenario["afterlife"] {
  // The household goes with its children, and without those whose ids were taken.
  if (kind.endsWith("household")) return random.fork("afterlife").isLucky(0.4) ? "purged" : "none";
  if (!plainKinds.includes(kind)) return "none";
  const again = kind === "code-sleeper" ? {} : { forked: 0.15 };
  return random.weighted({ none: 0.6, reused: 0.1, purged: 0.1, ...again }) ?? "none";
}

function drawActs(random: SimRandom, isCode: boolean): Act[] {
  const acts = drawLooks(random);
  const afterMs = (): number => random.waitMs(1500);
  for (let events = isCode ? random.whole(0, 2) : 0; events > 0; events--)
    acts.push({ what: "raise", afterMs: afterMs() });
  if (random.isLucky(0.12)) acts.push({ what: "cancel", afterMs: afterMs() });
  return [...acts, ...drawInterference(random)];
}
