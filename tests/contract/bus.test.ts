import { InProcessBus } from "../../src/cluster/in-process-bus.ts";
import { TestClock } from "../../src/testing/test-clock.ts";
import { closingSuite } from "./bus/closing.ts";
import { deliverySuite } from "./bus/delivery.ts";
import type { BusSuite, MakeBus } from "./bus/subject.ts";
import { textSuite } from "./bus/text.ts";

const buses: Record<string, MakeBus> = {
  async InProcessBus() {
    const clock = new TestClock();
    const bus = new InProcessBus({ clock });
    const foreign = new InProcessBus({ clock });
    return { bus, other: bus, foreign, settle: () => clock.settle(), close: async () => undefined };
  },
};

const suites: BusSuite[] = [deliverySuite, closingSuite, textSuite];

for (const [name, makeBus] of Object.entries(buses)) {
  for (const suite of suites) suite(name, makeBus);
}
