/** Outlines in a box of 16 × 16, drawn with the text's colour. */
const outlines = {
  overview: "M2.5 2.5h4.5v5H2.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 9.5h4.5v4H2.5z",
  workflows: "M2 5.5h3.5v5H2zM10.5 2.5H14v4h-3.5zM10.5 9.5H14v4h-3.5zM5.5 8H8M8 4.5v7M8 4.5h2.5M8 11.5h2.5",
  instances: "M2.5 3.5h11M2.5 8h11M2.5 12.5h7M12 11l1.8 1.5L12 14z",
  schedules: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3M8 8.5v2l1.5 1",
  jobs: "M6 5.5L3 8l3 2.5M10 5.5l3 2.5l-3 2.5",
  domains: "M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11zM5 5h.01M5 11h.01",
  workers: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  cluster:
    "M8 2.5a1.8 1.8 0 1 0 .01 0M3.5 10a1.8 1.8 0 1 0 .01 0M12.5 10a1.8 1.8 0 1 0 .01 0M7.2 5.9L4.6 10.2M8.8 5.9l2.6 4.3M5.3 11.8h5.4",
  audit: "M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5",
  tokens: "M10 3a3 3 0 1 0 .01 0M7.8 8L3 12.8M4.5 11.3l1.8 1.8M6.3 9.5l1.5 1.5",
  settings: "M3 4.5h6M12 4.5h1M3 11.5h1M7 11.5h6M10.5 3v3M5.5 10v3",
  search: "M7 2.8a4.2 4.2 0 1 0 .01 0M10.2 10.2l3.3 3.3",
  sun: "M8 5.2a2.8 2.8 0 1 0 .01 0M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  user: "M8 2.5a2.7 2.7 0 1 0 .01 0M3 13.5c.5-2.8 2.4-4 5-4s4.5 1.2 5 4",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
  check: "M3 8.6l3.3 3.2L13 4.8",
  close: "M4 4l8 8M12 4l-8 8",
  play: "M5 3l8 5l-8 5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  left: "M10 3.5L5.5 8l4.5 4.5",
  right: "M6 3.5L10.5 8L6 12.5",
  down: "M3.5 6L8 10.5L12.5 6",
  up: "M3.5 10L8 5.5l4.5 4.5",
  warning: "M8 2.5l6 11H2zM8 6.5v3M8 11.5h.01",
  info: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 7.2v3.6M8 5h.01",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.5 2.5 0 0 1 3.6 3.6L10.5 8M9 11.5L7.5 13a2.5 2.5 0 0 1-3.6-3.6L5.5 8",
  external: "M9 2.5h4.5V7M13.5 2.5L7.5 8.5M11.5 9.5v4h-9v-9h4",
  filter: "M2.5 3.5h11L9.3 8.5v4.5l-2.6-1.3V8.5z",
  keyboard: "M1.5 4.5h13v7h-13zM4 7h.01M6.5 7h.01M9 7h.01M11.5 7h.01M5 9.5h6",
  undo: "M5.5 3L2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H6",
  redo: "M10.5 3l3 3l-3 3M13.5 6H6a3.5 3.5 0 0 0 0 7h4",
  trash: "M3 4.5h10M6 4.5V2.5h4v2M4.5 4.5l.5 9h6l.5-9",
  edit: "M3 13l.5-3L10.5 3L13 5.5L6 12.5z",
} as const;

export type IconName = keyof typeof outlines;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return <Outline path={outlines[name]} size={size} />;
}

export function Outline({ path, size = 16 }: { readonly path: string; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}
