/** A moment that others wait for, from before or after it came. */
export type Gate = {
  readonly opened: Promise<void>;
  readonly open: () => void;
};

export function createGate(): Gate {
  let open: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open?.() };
}
