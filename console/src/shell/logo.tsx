export function Logo() {
  return (
    <svg
      width="22"
      height="22"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M3 2v12M8 2v12M13 2v12M1 6h14M1 10h14" />
    </svg>
  );
}
