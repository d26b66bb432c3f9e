import { AutoComplete, Select } from "antd";
import type { EdgeSpec } from "../../../src/kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../../../src/kernel/node-spec.ts";
import { nameOfNode } from "../graph/definition-model.ts";
import { Icon } from "../parts/icon.tsx";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { changeEdge, connect, type Draft, edgesOf, findNode, kindOfNode } from "./draft.ts";
import type { DraftEditor } from "./use-draft.ts";

interface EdgeListProps {
  readonly editor: DraftEditor;
  readonly node: NodeSpec;
  readonly onSelect: (id: string) => void;
}

interface PlacedEdge extends EdgeSpec {
  readonly place: number;
}

/** The edges of a node, with the results that take those of a decision, and new ones. */
export function EdgeList({ editor, node, onSelect }: EdgeListProps) {
  const text = useText(editorText);
  const { draft } = editor;
  const id = node.nodeId;
  const edges: PlacedEdge[] = edgesOf(draft).map((edge, place) => ({ ...edge, place }));
  const before = edges.filter(({ to }) => to === id);
  const after = edges.filter(({ from }) => from === id);
  return (
    <div className="editor-edges">
      <h3>{text.before}</h3>
      {before.length === 0 && <p className="quiet small">{text.nothingBefore}</p>}
      <ul>
        {before.map((edge) => (
          <EdgeRow key={edge.place} editor={editor} edge={edge} other={edge.from} onSelect={onSelect} />
        ))}
      </ul>
      <NodeSelect
        label={text.addBefore}
        draft={draft}
        without={[id, ...before.map(({ from }) => from)]}
        onChange={(from) => editor.change((current) => connect(current, from, id))}
      />
      <h3>{text.after}</h3>
      {after.length === 0 && <p className="quiet small">{text.nothingAfter}</p>}
      <ul>
        {after.map((edge) => (
          <EdgeRow
            key={edge.place}
            editor={editor}
            edge={edge}
            other={edge.to}
            hasResult={kindOfNode(node) === "decision"}
            onSelect={onSelect}
          />
        ))}
      </ul>
      <NodeSelect
        label={text.addAfter}
        draft={draft}
        without={[id, ...after.map(({ to }) => to)]}
        onChange={(to) => editor.change((current) => connect(current, id, to))}
      />
    </div>
  );
}

function nameOf(draft: Draft, id: NodeId): string {
  const node = findNode(draft, String(id));
  return node === undefined ? String(id) : nameOfNode(node);
}

interface EdgeRowProps {
  readonly editor: DraftEditor;
  readonly edge: PlacedEdge;
  readonly other: NodeId;
  readonly hasResult?: boolean;
  readonly onSelect: (id: string) => void;
}

function EdgeRow({ editor, edge, other, hasResult = false, onSelect }: EdgeRowProps) {
  const text = useText(editorText);
  const { draft, change } = editor;
  const { place, property } = edge;
  const name = nameOf(draft, other);
  return (
    <li>
      <button type="button" className="text-button" onClick={() => onSelect(String(other))}>
        {name}
      </button>
      {hasResult && (
        <AutoComplete
          size="small"
          className="editor-result"
          aria-label={text.result(name)}
          placeholder={text.always}
          value={property ?? ""}
          options={[{ value: "true" }, { value: "false" }]}
          onChange={(next: string | undefined) => {
            const value = next === undefined || next === "" ? undefined : next;
            change((current) => changeEdge(current, place, withProperty(value)), `edge:${place}`);
          }}
        />
      )}
      <button
        type="button"
        className="copy-button"
        aria-label={text.removeEdge(nameOf(draft, edge.from), nameOf(draft, edge.to))}
        onClick={() => change((current) => changeEdge(current, place, null))}
      >
        <Icon name="close" size={14} />
      </button>
    </li>
  );
}

/** An edge without a property is taken whatever the decision says. */
function withProperty(property: string | undefined): Partial<EdgeSpec> {
  return { property } as Partial<EdgeSpec>;
}

interface NodeSelectProps {
  readonly label: string;
  readonly draft: Draft;
  readonly without: readonly NodeId[];
  readonly onChange: (id: NodeId) => void;
}

function NodeSelect({ label, draft, without, onChange }: NodeSelectProps) {
  const others = draft.nodes.filter(({ nodeId }) => !without.includes(nodeId));
  if (others.length === 0) return null;
  return (
    <Select
      size="small"
      showSearch={{ optionFilterProp: "label" }}
      className="editor-connect"
      aria-label={label}
      placeholder={label}
      value={null}
      options={others.map((node) => ({ value: String(node.nodeId), label: nameOfNode(node) }))}
      onChange={(chosen: string | null) => {
        const node = findNode(draft, chosen ?? undefined);
        if (node !== undefined) onChange(node.nodeId);
      }}
    />
  );
}
