import { expect } from "vitest";
import { listPaths } from "./finding.ts";
import { callWithOwn, goesTo, ownFilters } from "./own-filters.ts";
import { openShop } from "./shop.ts";
import type { Result, Task } from "./task.ts";

/** Tasks that find links by destination, app or word. */

const one = "one list answers it";
const opensIosOnly = (link: Result) => link.ios_app_id && !link.android_app_id;
const isOld = goesTo("old.acme.example");

export const anything: readonly Task[] = [
  {
    sentence: "Which links still point at old.acme.example?",
    start: openShop,
    script: async (assistant) => {
      const filters = [{ field: "url", condition: "cont", value: "old.acme.example" }];
      return listPaths(await callWithOwn(assistant, "list_links", { filters }, isOld));
    },
    onSpecified: ownFilters,
    check: ({ told }) => expect(told.toSorted()).toEqual(["spring", "spring-shoes"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Find the link to our pricing page",
    start: openShop,
    script: async (assistant) => {
      const search = { search: "pricing" };
      return listPaths(await callWithOwn(assistant, "list_links", search, goesTo("pricing")));
    },
    onSpecified: ownFilters,
    check: ({ told }) => expect(told).toEqual(["plans"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Which links open Acme Legacy?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [{ field: "ios_app_name", condition: "eq", value: "Acme Legacy" }];
      const { error, ...found } = await call("list_links", { filters });
      if (error === undefined) return listPaths(found);
      const { bundle_id } = (await call("get_ios_app", { id: "Acme Legacy" })).ios_app;
      const known = [{ field: "ios_app_bundle_id", condition: "eq", value: bundle_id }];
      return listPaths(await call("list_links", { filters: known }));
    },
    onSpecified: { more: 2, because: "the server filters only by the ID of the app" },
    check: ({ told }) => expect(told).toEqual(["spring-shoes"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Which links open an app on iOS but none on Android?",
    start: openShop,
    script: async (assistant) => {
      const filters = [
        { field: "ios_app_name", condition: "empty", value: false },
        { field: "android_app_name", condition: "empty", value: true },
      ];
      return listPaths(await callWithOwn(assistant, "list_links", { filters }, opensIosOnly));
    },
    onSpecified: ownFilters,
    check: ({ told }) => expect(told).toEqual(["spring-shoes"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Which of the links have no destination of their own on Android?",
    start: async (place) => {
      await openShop(place);
      const android_fallback_url = "https://www.acme.example/android";
      await place.plant({ path: "boats", android_fallback_url });
    },
    script: async ({ call, read }) => {
      const filters = [{ field: "android_fallback_url", condition: "empty", value: true }];
      const { error, ...found } = await call("list_links", { filters });
      if (error === undefined) return listPaths(found);
      const made = await call("export_links", { format: "json" });
      const links: readonly Result[] = JSON.parse(await read(made.export.uri));
      return listPaths({ links: links.filter((link) => !link.android_fallback_url) });
    },
    onSpecified: { more: 2, because: "the server lacks the filter, so all links are exported" },
    check: ({ told }) => {
      expect(told).toHaveLength(9);
      expect(told).not.toContain("boats");
    },
    least: 1,
    because: one,
  },
  {
    sentence: "Which links were made in the console?",
    start: async (place) => {
      await openShop(place);
      await place.plant({ path: "boats", created_via: "console" });
    },
    script: async ({ call }) => {
      const filters = [{ field: "created_via", condition: "eq", value: "console" }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told).toEqual(["boats"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Export the links to old.acme.example as JSON",
    start: openShop,
    script: async (assistant) => {
      const filters = [{ field: "url", condition: "cont", value: "old.acme.example" }];
      const wanted = { filters, format: "json" };
      const made = await callWithOwn(assistant, "export_links", wanted, isOld);
      return JSON.parse(await assistant.read(made.export.uri));
    },
    onSpecified: ownFilters,
    check: ({ told }) => expect(told).toHaveLength(2),
    least: 2,
    because: "the file is made, and read",
  },
];
