import { nameOfNode, workOfNode } from "../graph/definition-model.ts";
import { Icon } from "../parts/icon.tsx";
import { Card } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { edgesOf, findNode, kindOfNode, removeNode } from "./draft.ts";
import type { DraftProblem } from "./draft-problems.ts";
import type { DraftEditor } from "./use-draft.ts";

interface NodeTableProps {
  readonly editor: DraftEditor;
  readonly problems: readonly DraftProblem[];
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}

/** The nodes as a table, for those who cannot use the canvas, and for large definitions. */
export function NodeTable({ editor, problems, selected, onSelect }: NodeTableProps) {
  const text = useText(editorText);
  const { draft } = editor;
  const before = (id: unknown): string => {
    const names = edgesOf(draft).flatMap(({ from, to, property }) => {
      const node = to === id ? findNode(draft, String(from)) : undefined;
      if (node === undefined) return [];
      return [property === undefined ? nameOfNode(node) : `${nameOfNode(node)} = ${property}`];
    });
    return names.join(", ");
  };
  return (
    <Card flush>
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th>{text.name}</th>
              <th className="hide-narrow">{text.kind}</th>
              <th>{text.jobName}</th>
              <th>{text.before}</th>
              <th className="fit" aria-label={text.remove} />
            </tr>
          </thead>
          <tbody>
            {draft.nodes.map((node) => {
              const id = String(node.nodeId);
              const problem = problems.find(({ nodeId }) => nodeId === id);
              return (
                <tr key={id} aria-selected={id === selected} className={id === selected ? "selected" : ""}>
                  <td className="name">
                    <button
                      type="button"
                      className="text-button"
                      aria-label={text.select(nameOfNode(node))}
                      onClick={() => onSelect(id)}
                    >
                      {nameOfNode(node)}
                    </button>
                    {problem !== undefined && (
                      <span className={`status ${problem.isWarning ? "tone-waiting" : "tone-failed"}`}>
                        <Icon name="warning" size={13} /> {problem.text}
                      </span>
                    )}
                  </td>
                  <td className="hide-narrow quiet nowrap">{text[kindOfNode(node)]}</td>
                  <td className="mono nowrap">{workOfNode(node)}</td>
                  <td>{before(node.nodeId)}</td>
                  <td className="fit">
                    <button
                      type="button"
                      className="copy-button"
                      aria-label={text.removeNode(nameOfNode(node))}
                      onClick={() => editor.change((current) => removeNode(current, node.nodeId))}
                    >
                      <Icon name="trash" size={14} />
                    </button>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
