import { useEffect, useRef } from "react";

/** True while the person types text, and keys are letters. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

const sequenceMs = 1200;

/** Shortcuts by what is pressed: a key such as `?`, or two in a row such as `g i`. */
export function useKeys(shortcuts: Readonly<Record<string, (event: KeyboardEvent) => void>>): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  const before = useRef({ key: "", at: 0 });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey || isTyping(event.target)) return;
      if (document.querySelector(".ant-modal-wrap:not([style*='display: none'])") !== null) return;
      const isCommand = event.ctrlKey || event.metaKey;
      const key = isCommand ? `ctrl+${event.key.toLowerCase()}` : event.key;
      const { current } = before;
      const sequence = event.timeStamp - current.at < sequenceMs ? `${current.key} ${key}` : "";
      before.current = { key, at: event.timeStamp };
      const run = latest.current[sequence] ?? latest.current[key];
      if (run === undefined) return;
      event.preventDefault();
      run(event);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
