import type { SpecChange } from "../../../src/catalogue/spec-diff.ts";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

const signs = { added: "+", removed: "−", changed: "~" } as const;
const tones = { added: "success", removed: "failed", changed: "waiting" } as const;

/** The differences of two definitions, one line each. */
export function DiffList({ changes }: { readonly changes: readonly SpecChange[] }) {
  const text = useText(workflowsText);
  return (
    <ul className="diff">
      {changes.length === 0 && <li className="quiet">{text.noChanges}</li>}
      {changes.map(({ op, path, before, after }) => (
        <li key={path} className={`tone-${tones[op]}`}>
          <b>{signs[op]}</b> <code>{path}</code>{" "}
          {before !== undefined && <code className="diff-before">{JSON.stringify(before)}</code>}{" "}
          {after !== undefined && <code>{JSON.stringify(after)}</code>}
        </li>
      ))}
    </ul>
  );
}
