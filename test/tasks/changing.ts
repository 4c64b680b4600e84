import { expect } from "vitest";
import { openShop } from "./shop.ts";
import type { Task } from "./task.ts";

/** Tasks that change one link. */

export const changing: readonly Task[] = [
  {
    sentence: "Rename the summer link to Summer 2026",
    start: openShop,
    script: ({ call }) => call("update_link", { id: "summer", name: "Summer 2026" }),
    check: async ({ find }) => expect(await find("summer")).toMatchObject({ name: "Summer 2026" }),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Point summer at https://www.acme.example/beach",
    start: openShop,
    script: ({ call }) =>
      call("update_link", { id: "summer", url: "https://www.acme.example/beach" }),
    check: async ({ find }) =>
      expect(await find("summer")).toMatchObject({ url: "https://www.acme.example/beach" }),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Point spring at https://partner.example/spring from now on",
    start: openShop,
    script: ({ call }) =>
      call("update_link", { id: "spring", url: "https://partner.example/spring" }),
    check: async ({ find, asked }) => {
      expect(await find("spring")).toMatchObject({ url: "https://partner.example/spring" });
      expect(asked.join()).toContain("partner.example");
    },
    least: 1,
    because: "the form that asks is a part of the call",
  },
  {
    sentence: "Send visitors of promo straight to the app, without the page between",
    start: openShop,
    script: ({ call }) => call("update_link", { id: "promo", enable_forced_redirect: true }),
    check: async ({ find }) =>
      expect(await find("promo")).toMatchObject({ enable_forced_redirect: true }),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Change the address of help to /support",
    start: openShop,
    script: ({ call }) => call("update_link", { id: "help", path: "support" }),
    check: async ({ paths, asked }) => {
      expect(await paths()).toContain("support");
      expect(asked).toHaveLength(1);
    },
    least: 1,
    because: "the form that asks is a part of the call",
  },
  {
    sentence: "Take the social title off the spring link",
    start: openShop,
    script: ({ call }) => call("update_link", { id: "spring", social_title: "" }),
    check: async ({ find }) => expect((await find("spring")).social_title).toBeFalsy(),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Let the help link open com.acme.shop on Android",
    start: openShop,
    script: ({ call }) =>
      call("update_link", { id: "help", android_app: { package_name: "com.acme.shop" } }),
    check: async ({ find }) =>
      expect((await find("help")).android_app_id).toEqual(expect.any(String)),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Delete the help link",
    start: openShop,
    script: ({ call }) => call("delete_link", { id: "help" }),
    check: async ({ find, asked }) => {
      expect(await find("help")).toBeUndefined();
      expect(asked.join()).toContain("help");
    },
    least: 1,
    because: "the form that asks is a part of the call",
  },
  {
    sentence: "Get rid of promo",
    start: openShop,
    setting: { person: "page" },
    script: async ({ call, show }) => {
      const { error } = await call("delete_link", { id: "promo" });
      await show(error.approval.url);
      await call("delete_link", { id: "promo" });
    },
    check: async ({ find, asked }) => {
      expect(await find("promo")).toBeUndefined();
      expect(asked.join()).toContain("900");
    },
    least: 2,
    because: "a client without a form calls again when the person has pressed the button",
  },
];
