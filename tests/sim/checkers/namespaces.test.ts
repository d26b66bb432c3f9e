import { test } from "node:test";
import { EvidenceBuilder } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkNamespaces } from "./namespaces.ts";

test("a list of a namespace that names an instance of another one", () => {
  for (const { value, namespace, isForeign } of [
    { value: [], namespace: "twin", isForeign: false },
    { value: ["a"], namespace: "twin", isForeign: true },
    { value: ["@twin/a"], namespace: "default", isForeign: true },
  ]) {
    const builder = new EvidenceBuilder({ isCluster: true });
    const life = builder.life();
    builder.answer(builder.ask(life, "list", { namespace }), { value });
    if (isForeign) expectViolations(checkNamespaces, builder, /in namespace .* which is not in it/);
    else expectViolations(checkNamespaces, builder);
  }
});
