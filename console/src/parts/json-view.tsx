import { prettyJson } from "../base/format.ts";
import { CopyButton } from "./copy.tsx";

const shownMax = 200_000;

export function JsonView({ value, label }: { readonly value: unknown; readonly label?: string }) {
  const full = typeof value === "string" ? value : prettyJson(value);
  const shown = full.length > shownMax ? `${full.slice(0, shownMax)}\n…` : full;
  return (
    <div className="json-view">
      <pre tabIndex={0} aria-label={label}>
        {shown === "" ? "–" : shown}
      </pre>
      {full !== "" && <CopyButton value={full} />}
    </div>
  );
}
