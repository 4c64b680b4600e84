import { setTimeout } from "node:timers/promises";

/** For what others do in their own time; the test's own limit ends a wait in vain. */
export async function waitUntil(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await setTimeout(10);
}
