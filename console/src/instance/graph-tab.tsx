import { lazy, Suspense, useMemo } from "react";
import type { HistoryTurn, InstanceView, Topology } from "../api/model.ts";
import { formatTime } from "../base/format.ts";
import { instancePath, navigate } from "../base/place.ts";
import { usePreferences } from "../base/preferences.ts";
import { serverNow } from "../base/server-clock.ts";
import { codeModel } from "../graph/code-model.ts";
import { dagModel } from "../graph/dag-model.ts";
import type { GraphModel } from "../graph/model.ts";
import { EmptyState, Loading } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { graphText } from "../text/graph-text.ts";
import { waitWordText } from "../text/wait-word-text.ts";

const GraphView = lazy(() => import("../graph/graph-view.tsx").then((m) => ({ default: m.GraphView })));

interface GraphTabProps {
  readonly view: InstanceView;
  readonly topology: Topology | undefined;
  readonly turns: readonly HistoryTurn[];
  readonly selected: string | undefined;
  readonly onSelect: (task: string | undefined) => void;
}

export function GraphTab({ view, topology, turns, selected, onSelect }: GraphTabProps) {
  const text = useText(graphText);
  const waits = useText(waitWordText);
  const { zone } = usePreferences();
  const model = useMemo<GraphModel | undefined>(() => {
    const texts = { words: text, waits, clock: (at: number): string => formatTime(at, zone, serverNow()) };
    if (view.kind === "code") return codeModel(view, turns, texts);
    return topology === undefined ? undefined : dagModel(view, topology, texts);
  }, [view, topology, turns, text, waits, zone]);
  if (model === undefined) return <Loading />;
  if (model.nodes.length === 0) return <EmptyState title={text.empty} icon="workflows" />;
  const nodeOf = (id: string | undefined) => model.nodes.find((node) => node.id === id);
  const chosen = model.nodes.find(({ task, kind }) => task !== undefined && task === selected && kind !== "fold");
  return (
    <Suspense fallback={<Loading />}>
      <GraphView
        model={model}
        selected={chosen?.id}
        onSelect={(id) => onSelect(nodeOf(id)?.task)}
        onOpen={(id) => {
          const child = nodeOf(id)?.childInstanceId;
          if (child !== undefined) navigate(instancePath(child));
        }}
      />
    </Suspense>
  );
}
