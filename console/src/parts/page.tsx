import { Button, Skeleton } from "antd";
import { Component, type ReactNode, useEffect, useState } from "react";
import { messageOf } from "../api/client.ts";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { Command } from "./copy.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface PageHeadProps {
  readonly title: ReactNode;
  readonly detail?: ReactNode;
  readonly actions?: ReactNode;
}

export function PageHead({ title, detail, actions }: PageHeadProps) {
  return (
    <header className="page-head">
      <div className="page-title">
        <h1>{title}</h1>
        {detail}
      </div>
      {actions !== undefined && <div className="page-actions">{actions}</div>}
    </header>
  );
}

interface CardProps {
  readonly title?: ReactNode;
  readonly extra?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  readonly flush?: boolean;
}

export function Card({ title, extra, children, className = "", flush = false }: CardProps) {
  return (
    <section className={`card ${flush ? "card-flush" : ""} ${className}`}>
      {title !== undefined && (
        <header className="card-head">
          <h2>{title}</h2>
          {extra}
        </header>
      )}
      {children}
    </section>
  );
}

interface EmptyStateProps {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  /** A command that fills this place. */
  readonly command?: string;
}

/** An empty place teaches how to fill it. */
export function EmptyState({ icon = "info", title, children, command }: EmptyStateProps) {
  return (
    <div className="empty-state">
      <Icon name={icon} size={22} />
      <h3>{title}</h3>
      {children !== undefined && <div className="quiet">{children}</div>}
      {command !== undefined && <Command>{command}</Command>}
    </div>
  );
}

/** A skeleton, after a moment: what loads at once does not flicker. */
export function Loading({ rows = 6 }: { readonly rows?: number }) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return isShown ? <Skeleton active title={false} paragraph={{ rows }} className="loading" /> : null;
}

export function Problem({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const text = useText(shellText);
  return (
    <div className="problem tone-failed" role="alert">
      <Icon name="warning" />
      <span>{messageOf(error)}</span>
      {onRetry !== undefined && (
        <Button size="small" onClick={onRetry}>
          {text.retry}
        </Button>
      )}
    </div>
  );
}

interface Result<Data> {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** Shows data as soon as there are some; an error after that keeps the old ones under a notice. */
export function Loaded<Data>({
  result,
  children,
}: {
  readonly result: Result<Data>;
  readonly children: (data: Data) => ReactNode;
}) {
  const { data, error } = result;
  const problem = error === null ? null : <Problem error={error} onRetry={() => void result.refetch()} />;
  if (data === undefined) return problem ?? <Loading />;
  return (
    <>
      {problem}
      {children(data)}
    </>
  );
}

interface BoundaryProps {
  readonly children: ReactNode;
  readonly fallback: (error: Error) => ReactNode;
}

/** A part that throws while it is drawn is shown as failed; the rest of the page stays. */
export class Boundary extends Component<BoundaryProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === null ? this.props.children : this.props.fallback(error);
  }
}
