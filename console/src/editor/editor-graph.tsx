import { Button } from "antd";
import { useMemo, useState } from "react";
import { nameOfNode, definitionModel } from "../graph/definition-model.ts";
import { GraphView } from "../graph/graph-view.tsx";
import type { GraphModel } from "../graph/model.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState } from "../parts/page.tsx";
import { useKeys } from "../shell/keys.ts";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { connect, type Draft, findNode } from "./draft.ts";
import type { DraftProblem } from "./draft-problems.ts";
import type { DraftEditor } from "./use-draft.ts";

interface EditorGraphProps {
  readonly editor: DraftEditor;
  readonly problems: readonly DraftProblem[];
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onOpen: (id: string) => void;
}

/** Nodes with a problem look as failed ones do, disabled ones as skipped ones. */
function draftModel(draft: Draft, problems: readonly DraftProblem[]): GraphModel {
  const model = definitionModel(draft);
  const found = new Map(problems.map((problem) => [problem.nodeId, problem]));
  const nodes = model.nodes.map((node, place) => {
    const problem = found.get(node.id);
    if (problem !== undefined) {
      return { ...node, status: problem.isWarning ? "Pending" : "Failed", detail: problem.text };
    }
    return draft.nodes[place]?.enable === false ? { ...node, status: "Skipped" } : node;
  });
  return { ...model, nodes };
}

export function EditorGraph({ editor, problems, selected, onSelect, onOpen }: EditorGraphProps) {
  const text = useText(editorText);
  const { draft, change } = editor;
  const model = useMemo(() => draftModel(draft, problems), [draft, problems]);
  const [source, setSource] = useState<string>();
  const from = findNode(draft, source);
  const to = selected === source ? undefined : findNode(draft, selected);
  const connectIds = (a: string | undefined, b: string | undefined): void => {
    const [first, second] = [findNode(draft, a), findNode(draft, b)];
    if (first !== undefined && second !== undefined) {
      change((current) => connect(current, first.nodeId, second.nodeId));
    }
    setSource(undefined);
  };
  useKeys({ c: () => setSource(selected) });
  return (
    <div className="card card-flush editor-graph">
      {draft.nodes.length === 0 ? (
        <EmptyState title={text.empty} icon="workflows">
          {text.emptyHint}
        </EmptyState>
      ) : (
        <GraphView
          model={model}
          selected={selected}
          onSelect={(id) => {
            if (id === undefined) setSource(undefined);
            onSelect(id);
          }}
          onOpen={(id) => (from === undefined ? onOpen(id) : connectIds(source, id))}
          onConnect={connectIds}
        />
      )}
      {from !== undefined && (
        <div className="editor-connecting" role="status">
          <Icon name="workflows" size={14} />
          <span>{text.connecting(nameOfNode(from))}</span>
          {to !== undefined && (
            <Button size="small" type="primary" onClick={() => connectIds(source, selected)}>
              {text.connectTo(nameOfNode(from), nameOfNode(to))}
            </Button>
          )}
          <button type="button" className="copy-button" aria-label="Esc" onClick={() => setSource(undefined)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      )}
    </div>
  );
}
