/** The end of one try: its time is up, or its caller has left. */
export type TryDeadline = {
  readonly isOver: () => boolean;
  /** Rejects when it is over, because not every `Send` heeds a signal. */
  readonly ended: Promise<never>;
  /** Made when it is asked for: a signal costs more than a call that stays in this process. */
  readonly readSignal: () => AbortSignal;
  readonly end: () => void;
};

export function createTryDeadline(): TryDeadline {
  let isOver = false;
  let controller: AbortController | undefined;
  let fail: ((error: Error) => void) | undefined;
  const ended = new Promise<never>((_, reject) => (fail = reject));
  return {
    isOver: () => isOver,
    ended,
    readSignal: () => {
      controller ??= new AbortController();
      if (isOver) controller.abort();
      return controller.signal;
    },
    end: () => {
      isOver = true;
      controller?.abort();
      fail?.(new Error("the time of this try is up"));
    },
  };
}
