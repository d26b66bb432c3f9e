/**
 * Trains a model with every combination of settings side by side, compares them on data that none of them has seen, and registers
 * the best if it is good enough. The number of combinations is known at run time only, so `plan-trials` adds a sub-task for each.
 *
 * The model is a line through points, fitted by gradient descent: small enough for an example, and it computes. Trials run in
 * threads, a few at a time: domain `trials` has as many slots as there are cores or graphics cards to train on.
 */
import { defineJob, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";

interface Points {
  readonly x: readonly number[];
  readonly y: readonly number[];
}

interface Trial {
  readonly rate: number;
  readonly epochs: number;
}

interface Trained extends Trial {
  readonly slope: number;
  readonly offset: number;
  readonly error: number;
}

/** Two thirds to learn from, the rest to judge by. Large sets belong into files; their names are in the context then. */
export const splitData = defineJob("split-data", (_params: undefined, ctx) => {
  const points = ctx.context["points"] as Points;
  ctx.patchContext({
    points: null,
    training: part(points, (place) => place % 3 !== 2),
    validation: part(points, (place) => place % 3 === 2),
  });
});

export const planTrials = defineJob(
  "plan-trials",
  ({ rates, epochs }: { rates: readonly number[]; epochs: readonly number[] }, ctx) => {
    const trials = rates.flatMap((rate) => epochs.map((count) => ({ rate, epochs: count })));
    for (const [place, trial] of trials.entries()) {
      const task = new TaskBuilder(`trial-${place}`).withJobFunction(train, trial).withTimeout(3600).withRetryCount(1);
      // One that diverges does not stop the others.
      ctx.generateSubTask(task.withDomain("trials").withSkipWhenFailed().build());
    }
    return { trials: trials.length };
  },
);

export const train = defineJob(
  "train",
  { isolation: "thread", source: { module: import.meta.url, export: "train" } },
  ({ rate, epochs }: Trial, ctx): Trained => {
    const { training, validation } = ctx.context as unknown as { training: Points; validation: Points };
    let [slope, offset] = [0, 0];
    for (let epoch = 0; epoch < epochs; epoch++) {
      const misses = training.x.map((x, place) => slope * x + offset - (training.y[place] ?? 0));
      slope -= (rate * sum(misses.map((miss, place) => miss * (training.x[place] ?? 0)))) / misses.length;
      offset -= (rate * sum(misses)) / misses.length;
      if (epoch % 100 === 0) ctx.progress({ done: epoch, total: epochs });
    }
    if (!(Math.abs(slope) < 1e6)) throw new Diverged(`rate ${rate} is too high`);
    const misses = validation.x.map((x, place) => slope * x + offset - (validation.y[place] ?? 0));
    return { rate, epochs, slope, offset, error: Math.sqrt(sum(misses.map((miss) => miss ** 2)) / misses.length) };
  },
);

/** Another attempt would diverge again. */
class Diverged extends Error {
  override readonly name = "Diverged";
  readonly retryable = false;
}

export const selectBest = defineJob("select-best", (_params: undefined, ctx) => {
  const trials = Object.entries(ctx.outputs).filter(([name]) => name.startsWith("trial-"));
  const best = trials.map(([, trained]) => trained as Trained).toSorted((a, b) => a.error - b.error)[0];
  if (best === undefined) throw new Error("every trial has diverged");
  ctx.patchContext({ best: { ...best } });
  return { ...best, compared: trials.length };
});

export const registerModel = defineJob("register-model", (_params: undefined, ctx) => {
  const { slope, offset } = ctx.context["best"] as Trained;
  return `y = ${slope.toFixed(2)} x + ${offset.toFixed(2)}`;
});

export const askForData = defineJob("ask-for-data", (_params: undefined, ctx) => {
  const { error } = ctx.context["best"] as Trained;
  return `the best model is off by ${error.toFixed(2)}: more data are needed`;
});

/** The params of a start are the `points`, and `errorMax`, which says what is good enough. */
export const modelTraining = new WorkflowBuilder()
  .withName("model-training")
  .withContext({ errorMax: 0.5 })
  .withMaxConcurrentTasks(8)
  .withTask(new TaskBuilder("split").withJobFunction(splitData))
  .withTask(
    new TaskBuilder("plan")
      .withJobFunction(planTrials, { rates: [0.001, 0.01, 0.5], epochs: [200, 2000] })
      .withDependency("split"),
  )
  .withTask(new TaskBuilder("select").withJobFunction(selectBest).withDependency("plan"))
  .withTask(new TaskBuilder("is-good").withDecision("context.best.error <= context.errorMax").withDependency("select"))
  .withTask(new TaskBuilder("register").withJobFunction(registerModel).withDependency("is-good", { when: true }))
  .withTask(new TaskBuilder("ask").withJobFunction(askForData).withDependency("is-good", { when: false }))
  .build();

function part({ x, y }: Points, keeps: (place: number) => boolean): Points {
  return { x: x.filter((_, place) => keeps(place)), y: y.filter((_, place) => keeps(place)) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
