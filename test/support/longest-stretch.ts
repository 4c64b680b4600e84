import { setImmediate } from "node:timers/promises";

/**
 * How long the process was busy in one go while `work` was done: the time of its own processors,
 * between two turns of the event loop. Whoever waits for something else waits that long; how many
 * other programs run on the machine does not count.
 */
export async function measureLongestStretch(work: () => Promise<unknown>): Promise<number> {
  let longest_ms = 0;
  let isOver = false;
  const watch = async () => {
    let last = process.cpuUsage();
    while (!isOver) {
      await setImmediate();
      const { user, system } = process.cpuUsage(last);
      last = process.cpuUsage();
      longest_ms = Math.max(longest_ms, (user + system) / 1000);
    }
  };
  const watching = watch();
  try {
    await work();
  } finally {
    isOver = true;
    await watching;
  }
  return longest_ms;
}
