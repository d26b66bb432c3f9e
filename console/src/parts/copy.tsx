import { Tooltip } from "antd";
import { useState } from "react";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { Icon } from "./icon.tsx";

export function CopyButton({ value, label }: { readonly value: string; readonly label?: string }) {
  const text = useText(shellText);
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(value).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <Tooltip title={isCopied ? text.copied : (label ?? text.copy)}>
      <button type="button" className="copy-button" onClick={copy} aria-label={label ?? text.copy}>
        <Icon name={isCopied ? "check" : "copy"} size={14} />
      </button>
    </Tooltip>
  );
}

/** A command to be pasted into a terminal. */
export function Command({ children }: { readonly children: string }) {
  return (
    <div className="command">
      <code>{children}</code>
      <CopyButton value={children} />
    </div>
  );
}
