import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { call } from "../api/client.ts";
import { currentNamespace } from "../base/place.ts";
import { type Draft, emptyDraft } from "./draft.ts";
import { beginHistory, type DraftHistory, edit, redo, undo } from "./draft-history.ts";
import { sentSpec } from "./spec-file.ts";
import { type DraftProblem, kernelProblems, serverProblems } from "./draft-problems.ts";

/** The base of the draft: the saved version that it was made from, or none. */
export interface DraftBase {
  readonly version: string | undefined;
  readonly spec: Draft;
}

const keyOf = (name: string): string => `heddle-draft:${currentNamespace()}:${name}`;

function readKept(name: string): DraftBase | undefined {
  try {
    const text = localStorage.getItem(keyOf(name));
    return text === null ? undefined : (JSON.parse(text) as DraftBase);
  } catch {
    // A draft that cannot be read is as good as none.
    return undefined;
  }
}

export interface DraftEditor {
  readonly base: DraftBase;
  readonly draft: Draft;
  readonly isChanged: boolean;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  /** Edits of the same field are one step of undo. */
  readonly change: (change: (draft: Draft) => Draft, field?: string) => void;
  readonly undo: () => void;
  readonly redo: () => void;
  /** Forgets the draft, and begins with what was saved. */
  readonly restart: (base: DraftBase) => void;
  /** Forgets the draft of another visit: it is saved. */
  readonly forget: () => void;
  /** Keeps the draft, as a change of another saved version. */
  readonly rebase: (base: DraftBase) => void;
}

/** A draft that survives a reload, with undo and redo. */
export function useDraft(name: string, saved: DraftBase | undefined): DraftEditor {
  const [base, setBase] = useState<DraftBase>(() => saved ?? { version: undefined, spec: emptyDraft });
  const [history, setHistory] = useState<DraftHistory>(() => {
    const kept = readKept(name);
    return beginHistory(kept !== undefined && kept.version === base.version ? kept.spec : base.spec);
  });
  const draft = history.present;
  const isChanged = useMemo(() => JSON.stringify(draft) !== JSON.stringify(base.spec), [draft, base]);
  useEffect(() => {
    if (isChanged) localStorage.setItem(keyOf(name), JSON.stringify({ version: base.version, spec: draft }));
    else localStorage.removeItem(keyOf(name));
  }, [name, draft, base, isChanged]);
  return {
    base,
    draft,
    isChanged,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    change: (change, field) => setHistory((before) => edit(before, change(before.present), field)),
    undo: () => setHistory(undo),
    redo: () => setHistory(redo),
    restart: (next) => {
      setBase(next);
      setHistory(beginHistory(next.spec));
    },
    forget: () => localStorage.removeItem(keyOf(name)),
    rebase: setBase,
  };
}

const checkDelayMs = 300;

/** Problems as you type: the kernel's at once, the server's a moment later. */
export function useProblems(name: string, draft: Draft): readonly DraftProblem[] {
  const own = useMemo(() => kernelProblems(draft), [draft]);
  const [settled, setSettled] = useState(draft);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(draft), checkDelayMs);
    return () => clearTimeout(timer);
  }, [draft]);
  const isSound = own.length === 0;
  const checked = useQuery({
    queryKey: ["check", name, settled],
    queryFn: () => call("checkWorkflow", { body: { name, dagSpec: sentSpec(settled) } }),
    enabled: isSound && settled === draft,
    placeholderData: (before) => before,
    gcTime: 0,
  });
  const { data } = checked;
  return useMemo(() => {
    return isSound && data !== undefined ? serverProblems(draft, data.problems) : own;
  }, [own, isSound, data, draft]);
}
