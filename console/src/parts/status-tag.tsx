import { formOf, toneOf } from "../base/status.ts";
import { useText } from "../text/define-text.ts";
import { statusText } from "../text/status-text.ts";
import { Outline } from "./icon.tsx";

export function useStatusWord(): (status: string) => string {
  const words = useText(statusText) as Readonly<Record<string, string | undefined>>;
  return (status) => words[status] ?? status;
}

interface StatusTagProps {
  readonly status: string;
  readonly attention?: boolean;
  /** Another word than the status itself. */
  readonly label?: string;
}

/** Form, colour and word of a status. */
export function StatusTag({ status, attention, label }: StatusTagProps) {
  const word = useStatusWord();
  return (
    <span className={`status tone-${toneOf(status)}`}>
      <Outline path={formOf(status)} size={14} />
      <span className="status-word">{label ?? word(status)}</span>
      {attention === true && <span className="attention-mark">▲</span>}
    </span>
  );
}

/** The form alone, for where the word stands beside it already. */
export function StatusMark({ status, size = 14 }: { readonly status: string; readonly size?: number }) {
  const word = useStatusWord();
  return (
    <span className={`status-mark tone-${toneOf(status)}`} role="img" aria-label={word(status)}>
      <Outline path={formOf(status)} size={size} />
    </span>
  );
}
