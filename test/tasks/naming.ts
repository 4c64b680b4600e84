import { expect } from "vitest";
import { planAndApply } from "./many.ts";
import { ownFilters } from "./own-filters.ts";
import { openShop } from "./shop.ts";
import type { Task } from "./task.ts";

/** Tasks that name links and apps as people do, such as by an address without its scheme. */

const named = "what the person says is a name of it";

export const naming: readonly Task[] = [
  {
    sentence: "Where does default.localhost:8787/spring lead?",
    start: openShop,
    script: async ({ call }) =>
      (await call("get_link", { id: "default.localhost:8787/spring" })).link.url,
    check: ({ told }) => expect(told).toBe("https://old.acme.example/spring?ref=1"),
    least: 1,
    because: named,
  },
  {
    sentence: "I see http://default.localhost:8787/promo/?from=mail in an e-mail, is that ours?",
    start: openShop,
    script: async ({ call }) => {
      const id = "http://default.localhost:8787/promo/?from=mail";
      return (await call("get_link", { id })).link.name;
    },
    check: ({ told }) => expect(told).toBe("Promo"),
    least: 1,
    because: named,
  },
  {
    sentence: "Is https://links.other.example/spring one of ours?",
    start: openShop,
    script: async ({ call }) =>
      (await call("get_link", { id: "https://links.other.example/spring" })).error.message,
    check: ({ told }) => {
      expect(told).toContain('not "links.other.example"');
      expect(told).toContain('is "Spring sale"');
    },
    least: 1,
    because: "the refusal says which host is ours and which links it has",
  },
  {
    sentence: "Shorten http://default.localhost:8787/spring. Call the existing link Spring offers",
    start: openShop,
    earlier: async ({ call }) =>
      (await call("shorten_link", { url: "http://default.localhost:8787/spring" })).link,
    script: ({ call }, link) =>
      call("update_link", { id: link.short_address, name: "Spring offers" }),
    check: async ({ find }) =>
      expect(await find("spring")).toMatchObject({ name: "Spring offers" }),
    least: 1,
    because: named,
  },
  {
    sentence: "Delete Acme Legacy from the iOS apps",
    start: openShop,
    script: ({ call }) => call("delete_ios_app", { id: "Acme Legacy" }),
    check: async ({ api, find, asked }) => {
      expect((await api("GET", "/ios_apps")).body.ios_apps).toHaveLength(1);
      expect((await find("spring-shoes")).ios_app_id).toBeFalsy();
      expect(asked.join()).toContain("Acme Legacy");
    },
    least: 1,
    because: "the form that asks is a part of the call",
  },
  {
    sentence: "Make a link boats to https://www.acme.example/boats that opens Acme Shop on iPhones",
    start: openShop,
    script: ({ call }) =>
      call("create_link", {
        path: "boats",
        url: "https://www.acme.example/boats",
        ios_app: { id: "Acme Shop" },
      }),
    check: async ({ find }) => {
      expect((await find("boats")).ios_app_id).toBe((await find("spring")).ios_app_id);
    },
    least: 1,
    because: named,
  },
  {
    sentence: "What was changed of Acme Legacy?",
    start: openShop,
    colleague: ({ call }) => call("update_ios_app", { id: "Acme Legacy", custom_scheme: "acme" }),
    script: async ({ call }) =>
      (await call("list_changes", { target: "Acme Legacy" })).changes[0].fields,
    check: ({ told }) => expect(told.custom_scheme.to).toBe("acme"),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "All links that open Acme Legacy on iPhones are to open Acme Shop there",
    start: openShop,
    script: (assistant) =>
      planAndApply(
        assistant,
        {
          operation: "update",
          filters: [{ field: "ios_app_name", condition: "eq", value: "Acme Legacy" }],
          changes: { ios_app: { id: "Acme Shop" } },
        },
        ({ ios_app_id, android_app_id }) => ios_app_id && !android_app_id,
      ),
    check: async ({ find, asked }) => {
      expect((await find("spring-shoes")).ios_app_id).toBe((await find("spring")).ios_app_id);
      expect(asked.join()).toContain("Acme Shop");
    },
    least: 2,
    because: "what happens to many links is shown before it is done",
    onSpecified: ownFilters,
  },
  {
    sentence: "Call the link Spring sale Spring bargains",
    start: openShop,
    script: ({ call }) => call("update_link", { id: "Spring sale", name: "Spring bargains" }),
    check: async ({ find }) =>
      expect(await find("spring")).toMatchObject({ name: "Spring bargains" }),
    least: 1,
    because: named,
  },
];
