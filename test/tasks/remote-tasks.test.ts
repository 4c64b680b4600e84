import { afterAll, describe, expect, test } from "vitest";
import { tasks } from "./all-tasks.ts";
import { openSpecifiedSeat, type Server } from "./remote-seat.ts";
import { createSeats } from "./seats.ts";
import { expectHiddenValues } from "./shop.ts";
import { shorten, type End, type Task } from "./task.ts";

/** The same tasks on remote servers that have only what the API specification names. */

/** The tasks that only Waypost can do, and why. */
const excluded: Readonly<Record<string, string>> = {
  "How often were our links visited lately?": "no endpoint is specified for statistics",
};

/** Tasks with the built command are about its addresses and files, or repeat others with it. */
const remote = tasks.filter(
  ({ sentence, setting: { isStdio = false, isRemote = false } = {} }) =>
    !isStdio && !isRemote && !(sentence in excluded),
);

describe.each<readonly [Server, "modern" | "v1"]>([
  ["specified", "modern"],
  ["specified", "v1"],
  ["altering", "modern"],
  ["altering", "v1"],
])("an assistant of a remote server that is %s, with a %s client,", (server, line) => {
  const seats = createSeats((setting) => openSpecifiedSeat(line, setting, server));
  afterAll(seats.close);

  test.each(remote.map((task) => [shorten(task.sentence), task] as const))(
    "needs only the minimum number of tool calls for: %s",
    async (_, task) => {
      const { more = 0, check: checkTask = task.check } = findDifference(task, server) ?? {};
      const check = async (end: End) => {
        await checkTask(end);
        await expectHiddenValues(end);
      };
      const spent = await seats.run({ ...task, check });
      expect(spent.calls, spent.tools.join(", ")).toBe(task.least + more);
    },
  );
});

function findDifference({ onSpecified, onAltering }: Task, server: Server) {
  return server === "altering" ? (onAltering ?? onSpecified) : onSpecified;
}

test("only the six tasks with the command and the excluded task are left out", () => {
  expect(tasks.length - remote.length).toBe(7);
});
