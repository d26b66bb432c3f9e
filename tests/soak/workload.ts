import { SimRandom } from "../sim/sim-random.ts";
import type { Kind } from "../sim/shapes.ts";
import { drawWorkload, type Resize, type Scenario, type Workload } from "../sim/workload.ts";

export interface WorkloadOptions {
  readonly seed: number;
  readonly domains: Readonly<Record<string, number>>;
  readonly spanMs: number;
  /** Of the simulator's workload there is one for each stretch of this length. */
  readonly waveMs: number;
}

const slowRetryMs = 2000;

const busyKinds: readonly Kind[] = ["chain", "fan", "diamond", "layered", "decision", "nested", "brood"];

/** The simulator's workload, again and again, for as long as the run is. It is the same in every process that draws it. */
export function drawWaves({ seed, domains, spanMs, waveMs }: WorkloadOptions): Workload {
  const random = new SimRandom(seed).fork("workload");
  const waves = Array.from({ length: Math.ceil(spanMs / waveMs) }, (_, wave) => {
    const { scenarios, resizes } = drawWorkload(random.fork(`wave ${wave}`), { domains, spanMs: waveMs });
    // Of tasks that wait for slots of a domain not many pass; the others keep members and server busy.
    const busy = drawWorkload(random.fork(`busy ${wave}`), { domains: {}, spanMs: waveMs, kinds: busyKinds });
    const later = <T extends { at: number }>(each: T): T => ({ ...each, at: each.at + wave * waveMs });
    return {
      scenarios: [
        ...scenarios.filter(isSoonOver).map((scenario) => inWave(scenario, 2 * wave, waveMs)),
        ...busy.scenarios.map((scenario) => inWave(scenario, 2 * wave + 1, waveMs)),
      ],
      resizes: resizes.map(later<Resize>),
    };
  });
  return {
    scenarios: waves.flatMap(({ scenarios }) => scenarios),
    resizes: waves.flatMap(({ resizes }) => resizes),
  };
}

/** There are two draws for each wave. */
function inWave(scenario: Scenario, draw: number, waveMs: number): Scenario {
  const { number, instanceId, submitAt } = scenario;
  return {
    ...scenario,
    number: 1000 * draw + number,
    instanceId: instanceId === undefined ? undefined : `v${draw}-${instanceId}`,
    submitAt: submitAt + Math.floor(draw / 2) * waveMs,
  };
}

/** Where a retry waits for seconds, and the next one twice as long, an instance outlives everything else. */
function isSoonOver({ workflow }: Scenario): boolean {
  const params = workflow.task("flaky")?.params as { readonly retryMs?: number } | undefined;
  return (params?.retryMs ?? 0) < slowRetryMs;
}
