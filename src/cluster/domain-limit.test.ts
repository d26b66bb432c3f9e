import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { beatMs, lostMs, rebalanceMs, type Weather, workerLostMs, World } from "./domain-world.rig.ts";

const membersMax = 6;
/** After this long in fair weather nothing is left of what was before. */
const calmMs = lostMs + 2 * workerLostMs + 10 * rebalanceMs;
/** As in domain-quotas.ts and domain-allocator.ts. */
const idleMs = 10_000;
const extraSlotMs = 10_000;

type Step = { readonly afterMs: number } & (
  | { readonly do: "offer"; readonly which: number; readonly count: number; readonly durationMs: number }
  | { readonly do: "move"; readonly which: number; readonly lingerMs: number }
  | { readonly do: "crash" | "leave" | "relink"; readonly which: number }
  | { readonly do: "freeze" | "cut" | "mute"; readonly which: number; readonly ms: number }
  | { readonly do: "join" }
  | { readonly do: "resize"; readonly size: number }
  | { readonly do: "weather"; readonly weather: Weather }
);

const which = fc.nat(20);
const ms = fc.oneof(fc.nat(3000), fc.nat(15_000));

/** Each kind of step, and what is to be known of it. */
const steps = {
  offer: { which, count: fc.constantFrom(0, 1, 2, 5, 100), durationMs: fc.constantFrom(20, 500, 3000, 10_000) },
  move: { which, lingerMs: ms },
  crash: { which },
  leave: { which },
  relink: { which },
  freeze: { which, ms },
  cut: { which, ms },
  mute: { which, ms },
  join: {},
  resize: { size: fc.integer({ min: 1, max: 7 }) },
  weather: {
    weather: fc.record({
      lost: fc.constantFrom(0, 0, 10, 40),
      doubled: fc.constantFrom(0, 30),
      confused: fc.constantFrom(0, 0, 20),
      astray: fc.constantFrom(0, 50, 90),
      delayMs: fc.constantFrom(5, 50, 500, 4000),
    }),
  },
} satisfies Record<Step["do"], object>;

const ordinary = { offer: 8, move: 4, join: 2, resize: 2, weather: 3 };
const rare = { crash: 1, leave: 1, relink: 2, freeze: 2, cut: 2, mute: 1 };

/** What happens how often, and how fast: a run is wild in some ways and mild in others. */
const scripts = [
  script(fc.oneof(fc.nat(100), fc.nat(1500), fc.nat(6000)), { ...ordinary, ...rare }),
  script(fc.nat(1000), { offer: 8, move: 3, cut: 3, join: 1, weather: 3 }),
  script(fc.nat(3000), { offer: 6, move: 2, leave: 1, relink: 6, freeze: 2, mute: 4, join: 2, weather: 1 }),
  script(fc.nat(4000), { offer: 6, move: 2, mute: 3, crash: 2, join: 4 }),
  script(fc.nat(3000), { offer: 6, resize: 5, mute: 2, move: 1, weather: 2 }),
];

function script(afterMs: fc.Arbitrary<number>, kinds: Partial<Record<Step["do"], number>>): fc.Arbitrary<Step[]> {
  const weighted = Object.entries(kinds).map(([kind, weight]) => {
    const step = { afterMs, do: fc.constant(kind), ...steps[kind as Step["do"]] };
    return { weight, arbitrary: fc.record(step) as unknown as fc.Arbitrary<Step> };
  });
  return fc.array(fc.oneof(...weighted), { maxLength: 40, size: "max" });
}

function apply(world: World, one: Step): void {
  if (one.do === "join") {
    if (world.processes.length < membersMax) world.join();
  } else if (one.do === "resize") world.resize(one.size);
  else if (one.do === "weather") world.weather = one.weather;
  else if (one.do === "move") world.move(one.which, one.lingerMs);
  else {
    const member = world.pick(one.which);
    if (member === undefined) return;
    if (one.do === "offer") member.offer(one.count, one.durationMs);
    else if ("ms" in one) member[one.do](one.ms);
    else member[one.do]();
  }
}

/** Nobody wants anything: nothing is held, and nobody says anything. */
async function checkSilence(world: World): Promise<void> {
  for (const member of world.processes) member.offer(0, 300);
  while (world.attempts.size > 0) await world.pass(1000);
  await world.pass(calmMs + idleMs);
  assert.equal(world.office.allocator.status().used, 0);
  const { reports } = world;
  await world.pass(idleMs);
  assert.equal(world.reports, reports, "who has and needs nothing is silent");
}

/** All want more than there is, and all of it comes to be held. */
async function checkFull(world: World): Promise<void> {
  world.move(world.below(10), 0);
  await world.pass(workerLostMs + 5 * beatMs);
  assert.equal(world.office.allocator.status().holds, true, "a new allocator hears also from those who need nothing");
  for (const member of world.processes) member.offer(1_000_000, 1000);
  const held = (): number => world.processes.reduce((sum, { quota, slots }) => sum + Math.max(quota, slots.size), 0);
  // While a slot goes from one to another, nobody has it.
  for (let look = 0; held() < world.size; look++) {
    assert.ok(look < 15, `${held()} of ${world.size} slots are held`);
    await world.pass(rebalanceMs);
  }
}

/** One wants all, the others nothing. */
async function checkUse(world: World): Promise<void> {
  for (const member of world.processes) member.offer(0, 300);
  const busy = world.pick(world.below(10))!;
  busy.offer(1_000_000, 300);
  await world.pass(10 * rebalanceMs);
  assert.equal(busy.quota, world.size, "what nobody else uses is there for the one who does");
}

const runs = Number(process.env["DOMAIN_RUNS"] ?? 200);

test("whatever happens, a domain's limit holds over all members, and no slot is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.nat(),
        members: fc.integer({ min: 1, max: 4 }),
        size: fc.integer({ min: 1, max: 7 }),
        hasRemoteWorkers: fc.boolean(),
      }),
      fc.oneof(...scripts),
      async (options, script) => {
        const world = new World(options);
        await world.pass(1000);
        for (const one of script) {
          await world.pass(one.afterMs);
          apply(world, one);
        }
        await world.pass(lostMs);
        world.heal();
        await checkSilence(world);
        await checkFull(world);
        await checkUse(world);
      },
    ),
    { numRuns: runs },
  );
});

/** The most even way to give out the slots: one by one, always to one of those who have least and want more. */
function evenShares(slots: number, wishes: readonly number[]): number[] {
  const shares = wishes.map(() => 0);
  let left = slots;
  for (;;) {
    const open = [...wishes.keys()].filter((i) => shares[i]! < wishes[i]!);
    const least = Math.min(...open.map((i) => shares[i]!));
    const next = open.filter((i) => shares[i] === least);
    // What is left then goes round among these.
    if (next.length === 0 || next.length > left) return shares;
    for (const i of next) shares[i] = least + 1;
    left -= next.length;
  }
}

test("shares are as even as wishes allow, and what cannot be divided goes round", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.constantFrom(0, 1, 2, 4, 1000), { minLength: 1, maxLength: 4 }),
      async (seed, size, wishes) => {
        const world = new World({ seed, members: wishes.length, size, hasRemoteWorkers: false });
        await world.pass(3000);
        const { processes } = world;
        for (const [i, member] of processes.entries()) member.keepOffering(wishes[i]!, 1000);
        await world.pass(2 * extraSlotMs);
        const shares = evenShares(size, wishes);
        const before = processes.map((member) => member.started);
        const looks = (wishes.length * 2 * extraSlotMs) / 500;
        let used = 0;
        for (let look = 0; look < looks; look++) {
          await world.pass(500);
          used += world.attempts.size;
          for (const [i, { id, quota }] of processes.entries()) {
            assert.ok(quota >= shares[i]!, `${id} has ${quota}, fair is ${shares[i]} at least`);
          }
        }
        const wanted = wishes.reduce<number>((sum, wish) => sum + wish, 0);
        const usable = Math.min(size, wanted);
        assert.ok(used / looks >= usable * 0.8, `${used / looks} of ${usable} slots are used`);
        for (const [i, { id, started }] of processes.entries()) {
          assert.ok(wishes[i] === 0 || started > before[i]!, `${id} has its turn`);
        }
      },
    ),
    { numRuns: Math.ceil(runs / 4) },
  );
});
