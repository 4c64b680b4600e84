import cluster from "node:cluster";
import type { Announcement } from "./announcement.ts";

/** One process of several, as it knows of the one that started it. */
export type OwnProcess = {
  /** Never given to another one of them, not even to the one that takes its place. */
  readonly id: number;
  /** Whether another one was there first, and has made what there was to be made. */
  readonly isJoining: boolean;
  /** Resolves when all of them are to stop. */
  readonly stopped: Promise<void>;
  readonly announce: (announcement: Announcement) => void;
  /** Nothing is heard of the others from here on, so that this process can end. */
  readonly leave: () => void;
};

/** All that is said to a process. It is no signal, for a second one of those ends it at once. */
export const stop = "stop";

/** Undefined in the process that starts the others. */
export function findOwnProcess(): OwnProcess | undefined {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  return {
    id: worker.id,
    isJoining: worker.id > 1,
    stopped: new Promise((resolve) => {
      process.on("message", (message) => {
        if (message === stop) resolve();
      });
    }),
    announce: (announcement) => worker.send(announcement),
    leave: () => worker.disconnect(),
  };
}
