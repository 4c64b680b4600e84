import { expect } from "vitest";
import { planAndApply } from "./many.ts";
import { openShop } from "./shop.ts";
import type { Task } from "./task.ts";

/** A few tasks with the built command. `remote-tasks.test.ts` runs the others in process. */

const setting = { isRemote: true } as const;

export const onRemoteServer: readonly Task[] = [
  {
    sentence: "Delete all links with test in their name",
    start: openShop,
    setting,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "delete",
        filters: [{ field: "name", condition: "cont", value: "test" }],
      }),
    check: async ({ paths, asked }) => {
      expect(await paths()).toHaveLength(7);
      expect(asked.join()).toContain("test-1");
    },
    least: 2,
    because: "what happens to many links is shown before it is done",
  },
  {
    sentence: "Get rid of the help link",
    start: openShop,
    setting: { ...setting, person: "page" },
    script: async ({ call, show }) => {
      const { error } = await call("delete_link", { id: "help" });
      await show(error.approval.url);
      return call("delete_link", { id: "help" });
    },
    check: async ({ find }) => expect(await find("help")).toBeUndefined(),
    least: 2,
    because: "a client without a form calls again when the person has pressed the button",
  },
];
