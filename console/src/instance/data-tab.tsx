import { useQuery } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { HistoryTurn, InstanceView } from "../api/model.ts";
import { hasEnded } from "../base/status.ts";
import { JsonView } from "../parts/json-view.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { inputOf } from "./task-output.ts";

interface DataTabProps {
  readonly view: InstanceView;
  readonly turns: readonly HistoryTurn[];
  /** The context at the moment that is shown; undefined for now. */
  readonly pastContext: Readonly<Record<string, unknown>> | undefined;
}

export function DataTab({ view, turns, pastContext }: DataTabProps) {
  const text = useText(instanceText);
  const { instanceId: id, status } = view;
  const isOver = hasEnded(status) && pastContext === undefined;
  const context = useQuery({
    queryKey: ["context", id],
    queryFn: () => call("getContext", { params: { id } }),
    enabled: view.kind === "dag" && pastContext === undefined,
  });
  const result = useQuery({
    queryKey: ["result", id, view.generation, status],
    queryFn: () => call("getResult", { params: { id } }),
    enabled: isOver,
  });
  return (
    <div className="data-tab">
      <Value title={text.input} hint={text.inputHint} value={inputOf(turns)} />
      {view.kind === "dag" && (
        <Value title={text.context} hint={text.contextHint} value={pastContext ?? context.data ?? {}} />
      )}
      {isOver ? (
        <Value title={text.output} hint={text.outputHint} value={result.data?.output ?? null} />
      ) : (
        <section>
          <h3>{text.output}</h3>
          <p className="quiet">{text.notEnded}</p>
        </section>
      )}
    </div>
  );
}

function Value({ title, hint, value }: { readonly title: string; readonly hint: string; readonly value: unknown }) {
  return (
    <section>
      <h3>
        {title} <span className="quiet small">{hint}</span>
      </h3>
      <JsonView value={value ?? null} label={title} />
    </section>
  );
}
