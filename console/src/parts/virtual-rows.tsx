import { type ReactNode, useEffect, useRef, useState } from "react";

interface VirtualRowsProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly children: (number: number) => ReactNode;
  readonly label: string;
  readonly className?: string;
  /** Keeps the end in sight while rows are added, unless the person has scrolled up. */
  readonly followsEnd?: boolean;
  /** A row to bring into sight. */
  readonly shown?: number | undefined;
}

const overscan = 12;

/** A list of rows of one height; only those in sight are in the document. */
export function VirtualRows(props: VirtualRowsProps) {
  const { count, rowHeight, children, label, className = "", followsEnd = false, shown } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ top: 0, height: 600 });
  const isAtEnd = useRef(true);
  const measure = (): void => {
    const element = frame.current;
    if (element === null) return;
    isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - rowHeight;
    setRange({ top: element.scrollTop, height: element.clientHeight });
  };
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      setRange({ top: element.scrollTop, height: element.clientHeight });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = frame.current;
    if (element !== null && followsEnd && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [count, followsEnd]);
  useEffect(() => {
    const element = frame.current;
    if (element === null || shown === undefined) return;
    const top = shown * rowHeight;
    if (top < element.scrollTop || top + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = Math.max(0, top - element.clientHeight / 2);
    }
  }, [shown, rowHeight]);
  const first = Math.max(0, Math.floor(range.top / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((range.top + range.height) / rowHeight) + overscan);
  const numbers = Array.from({ length: Math.max(0, last - first) }, (_, place) => first + place);
  return (
    <div
      ref={frame}
      className={`virtual ${className}`}
      onScroll={measure}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div className="virtual-inner" style={{ height: count * rowHeight }}>
        <div style={{ transform: `translateY(${first * rowHeight}px)` }}>{numbers.map(children)}</div>
      </div>
    </div>
  );
}
