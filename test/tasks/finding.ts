import { expect } from "vitest";
import { openShop } from "./shop.ts";
import type { Result, Task } from "./task.ts";

/** Tasks that ask about existing links. */

export const finding: readonly Task[] = [
  {
    sentence: "How many clicks did spring get?",
    start: openShop,
    script: async ({ call }) => (await call("get_link", { id: "spring" })).link.clicks,
    check: ({ told }) => expect(told).toBe(120),
    least: 1,
    because: "one thing is read",
  },
  {
    sentence: "How often were our links visited lately?",
    start: openShop,
    script: async ({ call }) => (await call("link_stats")).stats.sentence,
    check: ({ told }) => expect(told).toMatch(/click/),
    least: 1,
    because: "one answer has a sentence that says it",
  },
  {
    sentence: "Why do our links not open the app?",
    start: openShop,
    script: async ({ call }) => (await call("check_domain")).domain,
    check: ({ told }) => expect([told.ok, told.findings.length > 0]).toEqual([false, true]),
    least: 1,
    because: "one look at the domain finds what phones do not",
  },
  {
    sentence: "Which links got more than 100 clicks?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [{ field: "clicks", condition: "gt", value: 100 }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told.toSorted()).toEqual(["promo", "spring"]),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "What are our three most popular links?",
    start: openShop,
    script: async ({ call }) => {
      const sort = { field: "clicks", direction: "desc" };
      return listPaths(await call("list_links", { sort, limit: 3 }));
    },
    check: ({ told }) => expect(told).toEqual(["promo", "spring", "spring-shoes"]),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "Which links were made this month?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [{ field: "created_at", condition: "gteq", value: "2026-01-01" }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) =>
      expect(told.toSorted()).toEqual(["spring-shoes", "summer", "test-1", "test-2"]),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "Is there a link that nobody ever clicked?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [{ field: "clicks", condition: "eq", value: 0 }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told.toSorted()).toEqual(["plans", "spring-2025", "test-2"]),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "Show me all our links",
    start: openShop,
    script: async ({ call }) => listPaths(await call("list_links")),
    check: async ({ told, paths }) => expect(told.toSorted()).toEqual(await paths()),
    least: 1,
    because: "nine links are one page",
  },
  {
    sentence: "Give me a QR code of the summer link",
    start: openShop,
    script: async ({ call }) => (await call("get_link", { id: "summer", qr: true })).link,
    check: ({ told }) => expect(told.address).toContain("/summer"),
    least: 1,
    because: "the picture comes with the link",
  },
  {
    sentence: "Shorten https://www.acme.example/a/long/page. Where does the short address lead?",
    earlier: async ({ call }) =>
      (await call("shorten_link", { url: "https://www.acme.example/a/long/page" })).link,
    script: async ({ call }, link) => {
      const url = link.short_address;
      return (await call("resolve_short_link", { url })).link;
    },
    check: ({ told }) => expect(told.url).toBe("https://www.acme.example/a/long/page"),
    least: 1,
    because: "one question answers it",
  },
  {
    sentence: "Why does http://default.localhost:8787/promo not open the app?",
    start: openShop,
    script: async ({ call }) => {
      const id = "http://default.localhost:8787/promo";
      return (await call("explain_link", { id })).visits;
    },
    check: ({ told }) => expect(told.ios.with_app.why).toContain("The link has no iOS app"),
    least: 1,
    because: "the address is a name of the link, and its visits say why",
  },
];

export function listPaths({ links }: Result): readonly string[] {
  return links.map(({ path }: { readonly path: string }) => path);
}
