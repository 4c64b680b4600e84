/**
 * Whoever asks is answered by what begins after the asking. There is one at a time, and all who ask
 * meanwhile share the next.
 */
export function shareNext<Result>(
  work: () => Promise<Result>,
  onIdle: () => void = () => undefined,
): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;

  function begin(): Promise<Result> {
    next = undefined;
    current = work().finally(() => {
      // Else it stays until the next begins: nobody may begin a third between.
      if (next !== undefined) return;
      current = undefined;
      onIdle();
    });
    return current;
  }

  return () => {
    if (current === undefined) return begin();
    // One that failed was for those who asked before.
    return (next ??= current.then(begin, begin));
  };
}
