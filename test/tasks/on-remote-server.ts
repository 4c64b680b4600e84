import { expect } from "vitest";
import { planAndApply } from "./many.ts";
import { openShop } from "./shop.ts";
import type { Task } from "./task.ts";

/** Tasks on a remote server. */

const setting = { isRemote: true } as const;

export const onRemoteServer: readonly Task[] = [
  {
    sentence: "Where does promo lead?",
    start: openShop,
    setting,
    script: async ({ call }) => (await call("get_link", { id: "promo" })).link.url,
    check: ({ told }) => expect(told).toBe("https://www.acme.example/promo"),
    least: 1,
    because: "one thing is read",
  },
  {
    sentence: "Make a link boats to https://www.acme.example/boats for com.acme.shop on iPhones",
    start: openShop,
    setting,
    script: ({ call }) =>
      call("create_link", {
        path: "boats",
        url: "https://www.acme.example/boats",
        ios_app: { bundle_id: "com.acme.shop" },
      }),
    check: async ({ find }) => expect((await find("boats")).ios_app_id).toEqual(expect.any(String)),
    least: 1,
    because: "the sentence has all of it",
  },
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
    sentence: "Call summer Beach. No, put the old name back",
    start: openShop,
    setting,
    earlier: ({ call }) => call("update_link", { id: "summer", name: "Beach" }),
    script: ({ call }) => call("undo"),
    check: async ({ find }) =>
      expect(await find("summer")).toMatchObject({ name: "Summer launch" }),
    least: 1,
    because: "what is undone is the last act, which needs no name",
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
