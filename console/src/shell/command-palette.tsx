import { useQuery } from "@tanstack/react-query";
import { Modal } from "antd";
import { type KeyboardEvent, useState } from "react";
import { call } from "../api/client.ts";
import { shortId } from "../base/format.ts";
import { instancePath, navigate, workflowPath } from "../base/place.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { StatusMark } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { useNavigation } from "./navigation.ts";

interface Hit {
  readonly key: string;
  readonly label: string;
  readonly detail: string;
  readonly to: string;
  readonly icon: IconName;
  readonly status?: string;
}

const hitsPerKind = 6;

/** Finds pages, workflows and instances by name. */
export function CommandPalette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Modal
      open={isOpen}
      onCancel={onClose}
      footer={null}
      closable={false}
      destroyOnHidden
      width={560}
      className="palette"
    >
      <PaletteBody onClose={onClose} />
    </Modal>
  );
}

function useHits(wanted: string): readonly Hit[] {
  const text = useText(shellText);
  const pages = useNavigation().flat();
  const search = wanted.trim();
  const workflows = useQuery({
    queryKey: ["palette", "workflows", search],
    queryFn: () => call("listWorkflows", { query: { search, limit: hitsPerKind } }),
    enabled: search !== "",
  });
  const instances = useQuery({
    queryKey: ["palette", "instances", search],
    queryFn: () => call("listInstances", { query: { idPrefix: search, limit: hitsPerKind } }),
    enabled: search.length > 1,
  });
  const isMatch = (name: string): boolean => name.toLowerCase().includes(search.toLowerCase());
  return [
    ...pages
      .filter(({ name }) => isMatch(text[name]) || isMatch(name))
      .map(({ name, path }) => ({ key: path, label: text[name], detail: path, to: path, icon: name })),
    ...(workflows.data?.items ?? []).map(({ name, kind }) => {
      return { key: `w:${name}`, label: name, detail: kind, to: workflowPath(name), icon: "workflows" as const };
    }),
    ...(instances.data?.items ?? []).map(({ instanceId, workflowName, status }) => ({
      key: `i:${instanceId}`,
      label: shortId(instanceId),
      detail: workflowName,
      to: instancePath(instanceId),
      icon: "instances" as const,
      status,
    })),
  ];
}

function PaletteBody({ onClose }: { readonly onClose: () => void }) {
  const text = useText(shellText);
  const [wanted, setWanted] = useState("");
  const [place, setPlace] = useState(0);
  const hits = useHits(wanted);
  const open = (to: string): void => {
    onClose();
    navigate(to);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setPlace(Math.min(place + 1, hits.length - 1));
    else if (event.key === "ArrowUp") setPlace(Math.max(place - 1, 0));
    else if (event.key === "Enter") open(hits[place]?.to ?? `/instances?q=${encodeURIComponent(wanted.trim())}`);
    else return;
    event.preventDefault();
  };
  return (
    <div className="palette-body">
      <input
        autoFocus
        value={wanted}
        aria-label={text.search}
        placeholder={text.searchHint}
        onKeyDown={onKey}
        onChange={(event) => {
          setWanted(event.target.value);
          setPlace(0);
        }}
      />
      <ul role="listbox" aria-label={text.search}>
        {hits.map((hit, number) => (
          <li key={hit.key} role="option" aria-selected={number === place}>
            <button type="button" tabIndex={-1} onClick={() => open(hit.to)} onMouseMove={() => setPlace(number)}>
              {hit.status === undefined ? <Icon name={hit.icon} /> : <StatusMark status={hit.status} />}
              <span>{hit.label}</span>
              <span className="quiet">{hit.detail}</span>
            </button>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p className="quiet small">{text.searchNothing}</p>}
    </div>
  );
}
